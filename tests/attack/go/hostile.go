// Hostile clients, each beside a well-behaved one.
package main

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"time"
)

func init() { commands["hostile"] = hostile }

// sayer prints what an attack has seen.
type sayer = func(string, ...any)

type attack struct {
	name string
	run  func(s *Server, say sayer)
	// pre is put before the command line of the server.
	pre []string
	// small says whether the small run has it.
	small bool
}

// attacks are all of them, in their order.
var attacks = []attack{
	{name: "nofile", run: attackNofile, small: true, pre: []string{"prlimit", "--nofile=256:256"}},
	{name: "idle", run: attackIdle},
	{name: "slowloris60", run: attackSlowloris60},
	{name: "watchstorm", run: attackWatchstorm, small: true},
	{name: "cpu", run: attackCpu},
	{name: "canmate", run: attackCanmate},
	{name: "partial", run: attackPartial, small: true},
	{name: "verifyidle", run: attackVerifyidle, small: true},
	{name: "h2", run: attackH2},
	{name: "unread", run: attackUnread, small: true},
	{name: "nevjoin", run: attackNevjoin},
	{name: "limits", run: attackLimits},
	{name: "verifybig", run: attackVerifybig},
	{name: "import", run: attackImport},
	{name: "hard", run: attackHard, small: true},
	{name: "openings", run: attackOpenings, small: true},
	{name: "cache", run: attackCache},
	{name: "together", run: attackTogether, small: true},
	{name: "freeze", run: attackFreeze, small: true},
	{name: "listpages", run: attackListpages},
	{name: "notfound", run: attackNotfound},
	{name: "refusals", run: attackRefusals},
}

func hostile(args []string) {
	f := flag.NewFlagSet("hostile", flag.ExitOnError)
	port := f.Int("port", 51210, "")
	logLevel := f.String("log", "info", "")
	f.Parse(args)
	want := map[string]bool{}
	for _, a := range f.Args() {
		want[a] = true
	}
	for _, a := range attacks {
		if len(want) > 0 && !want[a.name] || len(want) == 0 && small && !a.small {
			continue
		}
		dir := fmt.Sprintf("%s/hostile-%d", base, *port)
		os.RemoveAll(dir)
		os.Remove(fmt.Sprintf("%s/server-%d.log", base, *port))
		s := Start(*port, dir+"/referee.db", nil, a.pre, "--log", *logLevel)
		_, err := s.Ready(10 * time.Second)
		must(err)
		fmt.Printf("== %s\n", a.name)
		before, _ := s.RSS()
		a.run(s, func(f string, v ...any) { fmt.Printf("  "+f+"\n", v...) })
		alive := s.Alive()
		_, peak := s.RSS()
		need(alive, "hostile %s: the server ended", a.name)
		need(peak < memoryMiB, "hostile %s: the server took %d MiB, the bound is %d", a.name, peak, memoryMiB)
		st := "dead"
		if alive {
			back(s, before, "hostile "+a.name)
			st = s.Stop()
		}
		b, _ := os.ReadFile(s.Log)
		panics := strings.Count(string(b), "panicked")
		need(panics == 0, "hostile %s: the log has %d panics", a.name, panics)
		need(st == "exit status 0", "hostile %s: stop: %s", a.name, st)
		fmt.Printf("  end: alive=%v peak=%d MiB panics=%d stop=%s\n", alive, peak, panics, st)
		for _, l := range strings.Split(string(b), "\n") {
			if strings.Contains(l, "ERROR") || strings.Contains(l, "panicked") || (strings.Contains(l, "WARN") && !strings.Contains(l, "drain deadline")) {
				fmt.Printf("  log: %.220s\n", l)
				break
			}
		}
	}
}
