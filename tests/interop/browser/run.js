// Opens the page in a browser, against a referee that it starts, and holds it to what the page has seen.
//
//     node run.js REFEREE [CHROMIUM]
//
// Packages come from npm ci, and the stubs from buf: README.md of tests/interop has the commands.
import { strict as assert } from "node:assert";
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { build } from "esbuild";
import { chromium } from "playwright-core";

const [referee, executablePath = "/usr/bin/chromium"] = process.argv.slice(2);
const here = new URL(".", import.meta.url).pathname;
const folder = mkdtempSync(join(tmpdir(), "referee-browser-"));

const bundled = await build({
  entryPoints: [join(here, "page.js")], bundle: true, write: false, format: "iife", logLevel: "error",
});
const script = bundled.outputFiles[0].text;
const pages = createServer((request, response) => {
  const isScript = request.url === "/page.js";
  response.setHeader("content-type", isScript ? "text/javascript" : "text/html");
  response.end(isScript ? script : '<!doctype html><title>Referee</title><script src="/page.js"></script>');
});
await new Promise((resolve) => pages.listen(0, "127.0.0.1", resolve));
const origin = `http://localhost:${pages.address().port}`;
const server = spawn(
  referee,
  ["serve", "--listen", "127.0.0.1:0", "--store", join(folder, "referee.db"), "--grpc-web-origins", origin, "--log", "warn"],
  { stdio: ["ignore", "pipe", "inherit"] },
);
const ended = new Promise((resolve) => server.on("exit", resolve));
let browser;
try {
  const [line] = await createInterface(server.stdout)[Symbol.asyncIterator]().next().then(({ value }) => [value]);
  const address = `http://${line.split(" ").at(-1)}`;
  browser = await chromium.launch({ executablePath, args: ["--no-sandbox", "--disable-dev-shm-usage"] });
  const play = async (from) => {
    const page = await browser.newPage();
    await page.goto(from);
    return page.evaluate((to) => window.play(to), address);
  };
  const told = await play(origin);
  assert.deepEqual(told, {
    refused: "ILLEGAL_MOVE",
    repeated: true,
    result: "BLACK_WINS",
    termination: "CHECKMATE",
    heard: [1, 2, 3, 4],
    missing: 5,
  });
  // The same page under another name is of another origin, and may not call.
  await assert.rejects(play(origin.replace("localhost", "127.0.0.1")));
  console.log(`${await browser.version()}: a refused move, a repeated request and mate over gRPC-Web`);
} finally {
  await browser?.close();
  server.kill("SIGTERM");
  await ended;
  pages.close();
  rmSync(folder, { recursive: true });
}
