// What was found: an attack states bounds, and what is beyond one is a problem.
package main

import (
	"fmt"
	"os"
	"strings"
	"sync"
	"time"
)

// small makes attacks that fit into the tests of every day; see README.md.
var small = os.Getenv("ATTACK_SMALL") != ""

// size returns how much there is of something: in full, or in the small run.
func size[T any](full, less T) T {
	if small {
		return less
	}
	return full
}

// Bounds that hold beside every attack. They leave room for a machine with much else to do, and for
// a referee that was built without optimization; the aims (10 ms, 100 ms) are for a quiet machine.
const (
	besideMedian    = time.Second
	besideWorst     = 8 * time.Second
	memoryMiB       = 1024
	clockSeconds    = 1.0
	backWithin      = 1.5
	backWithinMiB   = 64
	exitLateSeconds = 1.5
)

var found struct {
	sync.Mutex
	list []string
}

// problem notes and prints what must not be.
func problem(f string, a ...any) {
	text := fmt.Sprintf(f, a...)
	found.Lock()
	defer found.Unlock()
	found.list = append(found.list, text)
	if len(found.list) <= 60 {
		fmt.Println("PROBLEM", text)
	}
}

// need notes a problem where something does not hold.
func need(holds bool, f string, a ...any) {
	if !holds {
		problem(f, a...)
	}
}

// answered says whether all these answers are of the kinds that are allowed.
func answered(what string, codes map[string]int, allowed ...string) {
	for code, n := range codes {
		ok := false
		for _, a := range allowed {
			ok = ok || strings.HasPrefix(code, a)
		}
		need(ok, "%s: %d x %s", what, n, code)
	}
}

// back holds what the server takes some time after an attack to what it took before.
func back(s *Server, before int, what string) {
	most := max(int(backWithin*float64(before)), before+backWithinMiB)
	rss, _ := s.RSS()
	for i := 0; i < size(240, 40) && rss > most; i++ {
		time.Sleep(250 * time.Millisecond)
		rss, _ = s.RSS()
	}
	fmt.Printf("  memory: %d MiB before, %d MiB after\n", before, rss)
	if os.Getenv("ATTACK_MEMORY") != "" {
		need(rss <= most, "%s: the server takes %d MiB after the attack, where it took %d before; the bound is %d", what, rss, before, most)
	}
}

// memory holds what the server takes, now and at its peak, to the bound.
func memory(s *Server, what string) {
	_, peak := s.RSS()
	need(peak < memoryMiB, "%s: the server took %d MiB, the bound is %d", what, peak, memoryMiB)
}

// finish prints the sum and ends the program.
func finish() {
	fmt.Printf("problems=%d\n", len(found.list))
	if len(found.list) > 0 {
		for _, l := range found.list {
			fmt.Fprintln(os.Stderr, "problem:", l)
		}
		os.Exit(1)
	}
}
