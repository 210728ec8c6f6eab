// Faults of the disk and of the files of the store.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"

	pb "referee/v1"

	hv1 "google.golang.org/grpc/health/grpc_health_v1"
)

func init() { commands["disk"] = disk }

func sh(f string, a ...any) string {
	out, err := exec.Command("sh", "-c", fmt.Sprintf(f, a...)).CombinedOutput()
	s := strings.TrimSpace(string(out))
	if err != nil {
		s += " (" + err.Error() + ")"
	}
	return s
}

func mkGames(n int, p string) []*dgame {
	gs := make([]*dgame, n)
	for i := range gs {
		gs[i] = &dgame{id: fmt.Sprintf("%s%d", p, i), moves: plan(int64(i), 3000)}
	}
	return gs
}

// loadFor plays on all games for a while and counts the answers.
func loadFor(addr string, gs []*dgame, d time.Duration) map[string]int {
	c := dial(addr)
	defer c.Close()
	ctx, cancel := ctxT(d)
	defer cancel()
	codes := map[string]int{}
	var mu sync.Mutex
	var wg sync.WaitGroup
	for _, g := range gs {
		wg.Add(1)
		go func() {
			defer wg.Done()
			note := func(err error) {
				k := codeOf(err)
				if err != nil && k != "DeadlineExceeded" && k != "Canceled" {
					m := err.Error()
					if i := strings.Index(m, "desc = "); i > 0 {
						m = m[i+7:]
					}
					k += ": " + fmt.Sprintf("%.80s", m)
				}
				mu.Lock()
				codes[k]++
				mu.Unlock()
			}
			for ctx.Err() == nil {
				if !g.created {
					res, err := g.create(ctx, c)
					note(err)
					if err != nil {
						time.Sleep(10 * time.Millisecond)
						continue
					}
					g.created, g.createH = true, digest(res)
				}
				if g.pending == nil {
					if g.ply >= len(g.moves) {
						return
					}
					g.pending = &pb.SubmitActionRequest{Name: "games/" + g.id, Action: moveAction(seatOf(g.ply), fmt.Sprintf("m%d", g.ply), g.moves[g.ply])}
				}
				cc, cn := context.WithTimeout(ctx, 6*time.Second)
				res, err := games(c).SubmitAction(cc, g.pending)
				cn()
				note(err)
				if err != nil {
					time.Sleep(10 * time.Millisecond)
					continue
				}
				g.acks = append(g.acks, ack{g.pending, digest(res), res.Sequence, res.Event != nil})
				g.ply++
				g.pending = nil
			}
		}()
	}
	wg.Wait()
	return codes
}

func acksOf(gs []*dgame) (n int) {
	for _, g := range gs {
		n += len(g.acks)
	}
	return
}

func health(addr string) string {
	c := dial(addr)
	defer c.Close()
	ctx, cancel := ctxT(3 * time.Second)
	defer cancel()
	r, err := hv1.NewHealthClient(c).Check(ctx, &hv1.HealthCheckRequest{Service: "readiness"})
	if err != nil {
		return err.Error()
	}
	return r.Status.String()
}

func getSome(addr string, gs []*dgame) string {
	c := dial(addr)
	defer c.Close()
	codes := map[string]int{}
	for i, g := range gs {
		if i%5 == 0 && g.created {
			ctx, cancel := ctxT(5 * time.Second)
			_, err := games(c).GetGame(ctx, &pb.GetGameRequest{Name: "games/" + g.id})
			codes[fmt.Sprintf("%s %.120v", codeOf(err), err)]++
			cancel()
		}
	}
	return fmt.Sprint(codes)
}

func checkAll(addr string, gs []*dgame) string {
	c := dial(addr)
	defer c.Close()
	var P problems
	n := 0
	for _, g := range gs {
		if g.created {
			n += checkGame(c, g, &P)
		}
	}
	if len(P.list) > 0 {
		problem("%d problems with the records, the first: %s", len(P.list), P.list[0])
	}
	return fmt.Sprintf("%d events read, %d acknowledged, %d problems", n, acksOf(gs), len(P.list))
}

// The scenarios of the small run.
var smallDisk = map[string]bool{"full": true, "sync30": true, "two": true, "hardlink": true, "deleted": true, "corrupt": true, "wal": true}

func disk(args []string) {
	f := flag.NewFlagSet("disk", flag.ExitOnError)
	port := f.Int("port", 51230, "")
	preload := f.String("preload", base+"/faultdisk.so", "")
	f.Parse(args)
	want := map[string]bool{}
	for _, a := range f.Args() {
		want[a] = true
	}
	dir := fmt.Sprintf("%s/disk-%d", base, *port)
	store := dir + "/referee.db"
	ctl := base + "/ctl-" + fmt.Sprint(*port)
	set := func(m string) { os.WriteFile(ctl, []byte(m), 0o644) }
	start := func(extra ...string) (*Server, error) {
		s := Start(*port, store, []string{"LD_PRELOAD=" + *preload, "ADV_FILE=" + ctl, "ADV_MATCH=referee.db"}, nil, extra...)
		_, err := s.Ready(20 * time.Second)
		return s, err
	}
	logTail := func(n int) string {
		return sh("grep -E 'ERROR|WARN|error' %s/server-%d.log | cut -c1-230 | tail -%d", base, *port, n)
	}
	scenario := func(name string, fn func()) {
		if len(want) > 0 && !want[name] {
			return
		}
		if small && !smallDisk[name] {
			return
		}
		fmt.Println("==", name)
		os.RemoveAll(dir)
		os.MkdirAll(dir, 0o755)
		os.Remove(fmt.Sprintf("%s/server-%d.log", base, *port))
		set("off")
		fn()
	}
	say := func(f string, a ...any) { fmt.Printf("  "+f+"\n", a...) }
	fault := []string{"OK", "Unavailable", "DeadlineExceeded", "Canceled"}
	// The store is well again: writes are taken, and the readiness says so.
	well := func(s *Server, gs []*dgame) map[string]int {
		codes := loadFor(s.Addr(), gs, 2*time.Second)
		need(codes["OK"] > 0, "nothing is taken when all is well again: %v", codes)
		for i := 0; i < 40 && health(s.Addr()) != "SERVING"; i++ {
			time.Sleep(250 * time.Millisecond)
		}
		need(health(s.Addr()) == "SERVING", "the readiness does not come back: %s", health(s.Addr()))
		return codes
	}
	// Whoever asks is told within seconds that writes fail.
	ill := func(s *Server) string {
		h := health(s.Addr())
		for i := 0; i < 24 && h == "SERVING"; i++ {
			time.Sleep(250 * time.Millisecond)
			h = health(s.Addr())
		}
		need(h != "SERVING", "the readiness is SERVING where nothing can be written")
		return h
	}

	scenario("tmpfs", func() {
		say("%s", sh("mount -t tmpfs -o size=24m tmpfs %s && head -c 12M /dev/zero > %s/ballast && df -h %s | tail -1", dir, dir, dir))
		defer func() { say("%s", sh("umount %s; df %s | tail -1 | cut -c1-40", dir, dir)) }()
		s, err := start()
		if err != nil {
			say("%v", err)
			return
		}
		gs := mkGames(50, "t")
		for i := 0; i < 8; i++ {
			r := loadFor(s.Addr(), gs, 2*time.Second)
			full := false
			for k := range r {
				if strings.HasPrefix(k, "Unavailable") {
					full = true
				}
			}
			if full {
				say("full: %v; health %s; reads %s", r, ill(s), getSome(s.Addr(), gs))
				break
			}
		}
		r := loadFor(s.Addr(), gs, 3*time.Second)
		say("still full: %v; alive=%v", r, s.Alive())
		say("%s", sh("df -h %s | tail -1; ls -la %s", dir, dir))
		os.Remove(dir + "/ballast")
		r = well(s, gs)
		say("after room was made, without a restart: %v", r)
		s.Kill()
		s, err = start()
		if err != nil {
			say("restart: %v", err)
		} else {
			say("after kill -9 and restart: %s", checkAll(s.Addr(), gs))
			s.Kill()
		}
		// full at the start
		sh("head -c 40M /dev/zero > %s/ballast", dir)
		s, err = start()
		say("start on a full disk: %v; reads %s", err, getSome(s.Addr(), gs))
		if s.Alive() {
			say("writes: %v", loadFor(s.Addr(), gs, time.Second))
			say("stop: %s", s.Stop())
		}
		say("log: %s", logTail(6))
	})
	for _, m := range []string{"full", "sync 30", "write 20", "short 30", "sync 100"} {
		scenario(strings.ReplaceAll(m, " ", ""), func() {
			gs := mkGames(60, "f")
			for round := 0; round < size(3, 1); round++ {
				set("off")
				s, err := start()
				if err != nil {
					say("%v", err)
					return
				}
				a := loadFor(s.Addr(), gs, time.Second)
				set(m)
				b := loadFor(s.Addr(), gs, 2*time.Second)
				answered("under the fault "+m, b, fault...)
				h := health(s.Addr())
				if m == "full" || m == "sync 100" {
					h = ill(s)
				}
				rd := getSome(s.Addr(), gs)
				set("off")
				c := well(s, gs)
				if round == 0 {
					say("before %v; under fault %v; health %s; reads %s; after %v", a, b, h, rd, c)
				}
				set(m)
				loadFor(s.Addr(), gs, 300*time.Millisecond)
				s.Kill()
				set("off")
			}
			s, err := start()
			if err != nil {
				say("restart: %v", err)
				return
			}
			say("after fault and kill -9: %s", checkAll(s.Addr(), gs))
			st := s.Stop()
			need(st == "exit status 0", "stop: %s", st)
			say("stop %s; log: %s", st, logTail(4))
		})
	}
	scenario("slow", func() {
		s, err := start()
		must(err)
		gs := mkGames(50, "s")
		for _, m := range []string{"off", "slow 100", "slow 1000", "slow 6000"} {
			set(m)
			d := 3 * time.Second
			if m == "slow 6000" {
				d = 14 * time.Second
			}
			codes, reads := loadFor(s.Addr(), gs, d), getSome(s.Addr(), gs)
			say("%s: %v; reads %s", m, codes, reads)
			need(!strings.Contains(reads, "DeadlineExceeded"), "%s: a read waits for the disk: %s", m, reads)
		}
		t := time.Now()
		say("stop with syncs of 6 s: %s after %v", s.Stop(), time.Since(t))
		say("log: %s", logTail(6))
	})
	scenario("two", func() {
		s, err := start()
		must(err)
		gs := mkGames(20, "d")
		loadFor(s.Addr(), gs, time.Second)
		out := sh("timeout 5 %s serve --listen 127.0.0.1:%d --store %s 2>&1 | cut -c1-300", refereeBinary, *port+1, store)
		say("a second server on the store: %s", out)
		need(strings.Contains(out, "open") && !strings.Contains(out, "is listening"), "a second server starts on the store: %s", out)
		sh("ln -s %s %s/link.db", store, dir)
		say("by a symbolic link: %s", sh("timeout 5 %s serve --listen 127.0.0.1:%d --store %s/link.db 2>&1 | cut -c1-300", refereeBinary, *port+1, dir))
		if !small {
			// another process holds the write lock for 8 s
			cmd := exec.Command("python3", "-c", fmt.Sprintf("import sqlite3,time\nc=sqlite3.connect('%s');c.execute('BEGIN IMMEDIATE');time.sleep(8);c.rollback()", store))
			must(cmd.Start())
			time.Sleep(300 * time.Millisecond)
			t := time.Now()
			say("another process holds the write lock for 8 s: %v (%v); health %s; reads %s", loadFor(s.Addr(), gs, 9*time.Second), time.Since(t), health(s.Addr()), getSome(s.Addr(), gs))
			cmd.Wait()
			say("afterwards: %v", well(s, gs))
		}
		say("log: %s", logTail(4))
		// lock file removed
		os.Remove(store + ".lock")
		s2 := Start(*port+1, store, nil, nil)
		_, err = s2.Ready(3 * time.Second)
		say("after rm referee.db.lock a second server starts: %v", err == nil)
		if err == nil {
			var wg sync.WaitGroup
			wg.Add(2)
			gsB := mkGames(20, "d")
			for i := range gsB {
				*gsB[i] = *gs[i]
				gsB[i].acks = append([]ack{}, gs[i].acks...)
			}
			var ra, rb map[string]int
			go func() { ra = loadFor(s.Addr(), gs, 3*time.Second); wg.Done() }()
			go func() { rb = loadFor(s2.Addr(), gsB, 3*time.Second); wg.Done() }()
			wg.Wait()
			say("both take the same moves of 20 games: %v | %v", ra, rb)
			s2.Kill()
			s.Kill()
			s, _ = start()
			say("after restart by A's acks: %s", checkAll(s.Addr(), gs))
			say("by B's acks: %s", checkAll(s.Addr(), gsB))
		}
		s.Kill()
	})
	scenario("hardlink", func() {
		s, err := start()
		must(err)
		gs := mkGames(20, "h")
		loadFor(s.Addr(), gs, time.Second)
		sh("ln %s %s/other.db", store, dir)
		s2 := Start(*port+1, dir+"/other.db", nil, nil)
		_, err = s2.Ready(3 * time.Second)
		say("a second server by a hard link starts: %v", err == nil)
		need(err != nil, "a second server starts on the store by a hard link")
		s2.Kill()
		s.Kill()
	})
	scenario("deleted", func() {
		s, err := start()
		must(err)
		gs := mkGames(20, "x")
		loadFor(s.Addr(), gs, time.Second)
		before := acksOf(gs)
		say("rm referee.db and -wal under the server: %s", sh("rm %s %s-wal; ls %s", store, store, dir))
		r := loadFor(s.Addr(), gs, 5*time.Second)
		say("then: %v; readiness %s; reads %s", r, ill(s), getSome(s.Addr(), gs))
		noticed := acksOf(gs)
		r = loadFor(s.Addr(), gs, 2*time.Second)
		need(r["OK"] == 0, "%d moves are acknowledged into a file that was deleted 5 s before", r["OK"])
		say("acknowledged after the deletion: %d, and after 5 s: %d; log: %s", noticed-before, acksOf(gs)-noticed, logTail(3))
		need(logTail(3) != "", "the log has no word about the file that was deleted")
		s.Kill()
		s, err = start()
		say("restart: %v; reads %s", err, getSome(s.Addr(), gs))
		s.Kill()
	})
	scenario("corrupt", func() {
		s, err := start()
		must(err)
		gs := mkGames(60, "c")
		loadFor(s.Addr(), gs, 3*time.Second)
		say("stop %s, %s", s.Stop(), sh("ls -la %s | grep referee | awk '{print $5,$9}' | tr '\\n' ' '", dir))
		sh("cp -r %s %s-good", dir, dir)
		defer os.RemoveAll(dir + "-good")
		plies := map[string]int{}
		for _, g := range gs {
			plies[g.id] = g.ply
		}
		for _, c := range []struct {
			name, py        string
			harmless, small bool
		}{
			{"header", "b[0]^=255", false, false},
			{"page 1 schema", "b[100]^=255;b[104]^=255", false, false},
			{"1 byte in each 50th page", "\nfor p in range(50*4096,len(b),50*4096): b[p+1500]^=1", false, true},
			{"100 pages of zeroes", "\nfor p in range(100,200): b[p*4096:(p+1)*4096]=bytes(4096)", false, true},
			{"file cut in the middle", "del b[len(b)//2:]", false, false},
			{"move text changed e2e4-like (first 'g1f3' -> 'g1h3')", "\ni=b.find(b'g1f3',len(b)//3)\nb[i:i+4]=b'g1h3'", false, true},
			// What is not hashed may change unseen.
			{"a label changed", "\ni=b.find(b'dur',9000)\nb[i:i+3]=b'DUR'", true, false},
		} {
			if small && !c.small {
				continue
			}
			sh("rm -rf %s; cp -r %s-good %s", dir, dir, dir)
			sh("python3 - <<'E'\nf='%s'\nb=bytearray(open(f,'rb').read())\n%s\nopen(f,'wb').write(b)\nE", store, c.py)
			sh("rm -f %s/server-%d.log", base, *port)
			verdict := sh("%s store verify %s >%s.verdict 2>&1; echo $?; tail -3 %s.verdict", refereeBinary, store, store, store)
			code, said, _ := strings.Cut(verdict, "\n")
			say("%-34s store verify: %s", c.name, strings.ReplaceAll(said, "\n", " | "))
			need(code == "1" || code == "2" || c.harmless, "%s: store verify finds nothing (exit %s)", c.name, code)
			s, err := start()
			if err != nil {
				say("%-34s start: %v: %s", c.name, err, sh("tail -1 %s/server-%d.log | cut -c1-200", base, *port))
				continue
			}
			cc := dial(s.Addr())
			get, exp := map[string]int{}, map[string]int{}
			for _, g := range gs {
				ctx, cancel := ctxT(5 * time.Second)
				r, err := games(cc).GetGame(ctx, &pb.GetGameRequest{Name: "games/" + g.id})
				k := codeOf(err)
				if err == nil && (len(r.Game.Moves) < plies[g.id] || strings.Join(r.Game.Moves[:plies[g.id]], " ") != strings.Join(g.moves[:plies[g.id]], " ")) {
					k = "OK BUT WRONG"
				}
				get[k]++
				st, err := games(cc).ExportGame(ctx, &pb.ExportGameRequest{Name: "games/" + g.id})
				for err == nil {
					_, err = st.Recv()
				}
				k = codeOf(err)
				if err.Error() == "EOF" {
					k = "OK"
				}
				exp[k]++
				cancel()
			}
			cc.Close()
			need(get["OK BUT WRONG"] == 0, "%s: GetGame shows moves that were not made: %v", c.name, get)
			more := mkGames(10, fmt.Sprintf("n%d-", time.Now().UnixNano()))
			w := loadFor(s.Addr(), more, time.Second)
			say("%-34s starts; GetGame %v, ExportGame %v, moves %v, health %s; log: %s", c.name, get, exp, w, health(s.Addr()), logTail(1))
			s.Kill()
		}
	})
	scenario("wal", func() {
		for _, c := range []struct {
			name, py string
			small    bool
		}{
			{"cut to half", "del b[len(b)//2:]", false},
			{"1 byte flipped in the middle", "b[len(b)//2]^=1", true},
			{"header flipped", "b[9]^=255", false},
			{"deleted", "b.clear()", true},
		} {
			if small && !c.small {
				continue
			}
			sh("rm -rf %s; mkdir -p %s; rm -f %s/server-%d.log", dir, dir, base, *port)
			s, err := start()
			must(err)
			gs := mkGames(40, "w")
			loadFor(s.Addr(), gs, 1500*time.Millisecond)
			time.Sleep(3 * time.Second)
			s.Kill()
			sh("python3 - <<'E'\nf='%s-wal'\nb=bytearray(open(f,'rb').read())\nprint(len(b))\n%s\nopen(f,'wb').write(b)\nE", store, c.py)
			s, err = start()
			if err != nil {
				say("WAL %s: start %v: %s", c.name, err, logTail(1))
				need(strings.Contains(logTail(2), "lost what was acknowledged"), "WAL %s: the server does not start, and the log does not say why: %s", c.name, logTail(2))
				continue
			}
			lost := 0
			cc := dial(s.Addr())
			for _, g := range gs {
				ctx, cancel := ctxT(5 * time.Second)
				r, err := games(cc).GetGame(ctx, &pb.GetGameRequest{Name: "games/" + g.id})
				if err != nil {
					lost += g.ply
				} else {
					lost += g.ply - len(r.Game.Moves)
				}
				cancel()
			}
			cc.Close()
			say("WAL %s: starts, %d of %d acknowledged are gone; a word in the log: %q", c.name, lost, acksOf(gs), logTail(2))
			need(lost == 0 || logTail(2) != "", "WAL %s: %d acknowledged moves are gone without a word in the log", c.name, lost)
			s.Kill()
		}
	})
	scenario("readonly", func() {
		s, err := start()
		must(err)
		gs := mkGames(20, "r")
		loadFor(s.Addr(), gs, time.Second)
		s.Stop()
		say("%s", sh("mount --bind %s %s && mount -o remount,ro,bind %s && touch %s/x", dir, dir, dir, dir))
		defer sh("umount %s", dir)
		s, err = start()
		say("start on a read-only file system: %v: %s", err, sh("tail -1 %s/server-%d.log", base, *port))
		if s.Alive() {
			s.Kill()
		}
	})
	scenario("fsize", func() {
		s := Start(*port, store, nil, []string{"prlimit", "--fsize=3000000:3000000"})
		_, err := s.Ready(5 * time.Second)
		gs := mkGames(50, "l")
		say("RLIMIT_FSIZE 3 MB: %v; %v", err, loadFor(s.Addr(), gs, 4*time.Second))
		st, ended := s.Wait(10 * time.Millisecond)
		say("ended=%v %s; log: %s", ended, st, logTail(3))
		if !ended {
			s.Kill()
		}
		s, err = start()
		if err == nil {
			say("restart without the limit: %s", checkAll(s.Addr(), gs))
			s.Kill()
		}
	})
}
