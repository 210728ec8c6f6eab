// Clocks: stopped processes, crashes, steps of the time of day.
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	pb "referee/v1"

	"google.golang.org/grpc"
)

// Where Debian puts it.
var faketime = func() string {
	found, _ := filepath.Glob("/usr/lib/*/faketime/libfaketime.so.1")
	return append(found, "/usr/lib/libfaketime.so.1")[0]
}()

func init() { commands["clock"] = clock }

func createTimed(c *grpc.ClientConn, id, tc, profile string) error {
	ctx, cancel := ctxT(10 * time.Second)
	defer cancel()
	_, err := games(c).CreateGame(ctx, &pb.CreateGameRequest{GameId: id, RequestId: id, Game: &pb.Game{RuleProfile: &pb.RuleProfile{Name: profile},
		ClockSettings: &pb.ClockSettings{TimeControl: &pb.TimeControl{Pgn: tc}}}})
	if err != nil {
		return err
	}
	_, err = games(c).SubmitAction(ctx, &pb.SubmitActionRequest{Name: "games/" + id, Action: &pb.Action{Seat: pb.Seat_SEAT_ARBITER, RequestId: "start", Kind: &pb.Action_StartGame{StartGame: &pb.StartGame{}}}})
	return err
}

func timedMove(c *grpc.ClientConn, id string, ply int, mv string) (*pb.SubmitActionResponse, error) {
	ctx, cancel := ctxT(20 * time.Second)
	defer cancel()
	return games(c).SubmitAction(ctx, &pb.SubmitActionRequest{Name: "games/" + id, Action: moveAction(seatOf(ply), fmt.Sprint("m", ply), mv)})
}

func story(c *grpc.ClientConn, id string) string {
	ctx, cancel := ctxT(20 * time.Second)
	defer cancel()
	l, err := games(c).ListGameEvents(ctx, &pb.ListGameEventsRequest{Parent: "games/" + id, PageSize: 100})
	if err != nil {
		return err.Error()
	}
	var out []string
	for _, e := range l.Events {
		what := e.Move.GetUci()
		if f := e.Action.GetRefereeFinding(); f != nil {
			what = fmt.Sprintf("finding(%v)", f)
		} else if what == "" {
			what = fmt.Sprintf("%T", e.Action.GetKind())[7:]
		}
		led := ""
		for _, x := range e.Ledger {
			led += fmt.Sprintf("[%s el=%.1f ch=%.1f cr=%.1f left=%.1f]", strings.TrimPrefix(x.Cause.String(), "LEDGER_CAUSE_"), x.Elapsed.AsDuration().Seconds(), x.Charged.AsDuration().Seconds(), x.Credited.AsDuration().Seconds(), x.Left.AsDuration().Seconds())
		}
		o := ""
		if e.Outcome.GetResult() > 1 {
			o = " " + e.Outcome.Termination.String()
		}
		out = append(out, fmt.Sprintf("%s %s%s", what, led, o))
	}
	return strings.Join(out, "; ")
}

// chargedOf returns what the clocks of a game were charged, in seconds.
func chargedOf(c *grpc.ClientConn, id string) float64 {
	ctx, cancel := ctxT(20 * time.Second)
	defer cancel()
	l, err := games(c).ListGameEvents(ctx, &pb.ListGameEventsRequest{Parent: "games/" + id, PageSize: 100})
	if err != nil {
		problem("the events of %s: %v", id, err)
		return 0
	}
	charged := 0.0
	for _, e := range l.Events {
		for _, x := range e.Ledger {
			charged += x.Charged.AsDuration().Seconds()
		}
	}
	return charged
}

// chargedAbout holds what the clocks of a game were charged to what they should have been.
func chargedAbout(c *grpc.ClientConn, id, what string, least, most float64) {
	charged := chargedOf(c, id)
	need(charged >= least && charged <= most, "%s: %.1f s were charged, not %.1f to %.1f: %s", what, charged, least, most, story(c, id))
}

func clock(args []string) {
	f := flag.NewFlagSet("clock", flag.ExitOnError)
	port := f.Int("port", 51260, "")
	f.Parse(args)
	dir := fmt.Sprintf("%s/clock-%d", base, *port)
	store := dir + "/referee.db"
	want := map[string]bool{}
	for _, a := range f.Args() {
		want[a] = true
	}
	say := func(f string, a ...any) { fmt.Printf("  "+f+"\n", a...) }
	run := func(name string, environ, prefix []string, fn func(s *Server, c *grpc.ClientConn) *Server) {
		if len(want) > 0 && !want[name] || small && name != "crash" && name != "future" {
			return
		}
		if environ != nil {
			if _, err := os.Stat(faketime); err != nil {
				say("%s needs faketime, which is not here", name)
				need(os.Getenv("REFEREE_TOOLS_REQUIRED") == "", "clock %s: faketime is not installed", name)
				return
			}
		}
		fmt.Println("==", name)
		os.RemoveAll(dir)
		os.Remove(fmt.Sprintf("%s/server-%d.log", base, *port))
		s := Start(*port, store, environ, prefix, "--log", "info")
		if _, err := s.Ready(20 * time.Second); err != nil {
			say("%v %s", err, sh("tail -3 %s", s.Log))
			return
		}
		c := dial(s.Addr())
		s = fn(s, c)
		say("log: %s", sh("grep -E 'WARN|ERROR' %s | cut -c28-200 | tail -4", s.Log))
		if s.Alive() {
			s.Stop()
		}
		c.Close()
	}
	run("stop", nil, nil, func(s *Server, c *grpc.ClientConn) *Server {
		must(createTimed(c, "a8", "60+0", "lichess"))
		must(createTimed(c, "fast", "5+0", "lichess"))
		must(createTimed(c, "otb", "60+0", "fide_blitz"))
		time.Sleep(2 * time.Second)
		s.Signal(syscall.SIGSTOP)
		time.Sleep(9 * time.Second)
		done := make(chan string)
		go func() {
			r, err := timedMove(c, "fast", 0, "e2e4")
			done <- fmt.Sprint(r.GetRuling().GetVerdict(), " ", err)
		}()
		time.Sleep(500 * time.Millisecond)
		s.Signal(syscall.SIGCONT)
		say("a move of 'fast' (5 s, 2 s used) sent while the process is stopped: %s", <-done)
		timedMove(c, "a8", 0, "e2e4")
		timedMove(c, "otb", 0, "e2e4")
		chargedAbout(c, "a8", "2 s and a stop of 9.5 s", 0, 2+clockSeconds)
		say("60+0 after 2 s + 9.5 s stop: %s", story(c, "a8"))
		say("fide_blitz: %s", story(c, "otb"))
		say("5+0: %s", story(c, "fast"))
		// less than 5 s
		must(createTimed(c, "short", "60+0", "lichess"))
		time.Sleep(time.Second)
		s.Signal(syscall.SIGSTOP)
		time.Sleep(4 * time.Second)
		s.Signal(syscall.SIGCONT)
		timedMove(c, "short", 0, "e2e4")
		chargedAbout(c, "short", "1 s and a stop of 4 s", 0, 5+clockSeconds)
		say("60+0 after 1 s + 4 s stop: %s", story(c, "short"))
		// flag in the stop
		must(createTimed(c, "f2", "2+0", "lichess"))
		s.Signal(syscall.SIGSTOP)
		time.Sleep(4 * time.Second)
		s.Signal(syscall.SIGCONT)
		_, err := timedMove(c, "f2", 0, "e2e4")
		say("2+0, stopped for 4 s at once: move %v; %s", err, story(c, "f2"))
		return s
	})
	run("crash", nil, nil, func(s *Server, c *grpc.ClientConn) *Server {
		must(createTimed(c, "k", "60+0", "lichess"))
		must(createTimed(c, "k2", "3+0", "lichess"))
		time.Sleep(2 * time.Second)
		s.Kill()
		time.Sleep(6 * time.Second)
		s = Start(*port, store, nil, nil)
		s.Ready(20 * time.Second)
		time.Sleep(300 * time.Millisecond)
		_, err := timedMove(c, "k", 0, "e2e4")
		need(err == nil, "a move after a crash: %v", err)
		chargedAbout(c, "k", "2 s of service and a crash of 6 s", 0, 2+2*clockSeconds)
		say("2 s, kill -9, 6 s: %v %s", err, story(c, "k"))
		time.Sleep(3 * time.Second)
		say("3+0: %s", story(c, "k2"))
		chargedAbout(c, "k2", "a clock of 3 s that ran through a crash", 3, 3.01)
		return s
	})
	ts := dir + "-ts"
	setTS := func(v string) { os.WriteFile(ts, []byte(v+"\n"), 0o644) }
	fake := []string{"LD_PRELOAD=" + faketime, "FAKETIME_TIMESTAMP_FILE=" + ts, "FAKETIME_NO_CACHE=1", "DONT_FAKE_MONOTONIC=1", "FAKETIME_DONT_FAKE_MONOTONIC=1"}
	setTS("+0")
	run("jump", fake, nil, func(s *Server, c *grpc.ClientConn) *Server {
		must(createTimed(c, "j", "60+0", "lichess"))
		time.Sleep(time.Second)
		setTS("+2h")
		time.Sleep(2 * time.Second)
		_, err := timedMove(c, "j", 0, "e2e4")
		setTS("-2h")
		time.Sleep(2 * time.Second)
		_, err2 := timedMove(c, "j", 1, "e7e5")
		need(err == nil && err2 == nil, "moves while the machine jumps: %v %v", err, err2)
		chargedAbout(c, "j", "the machine jumps by 2 h under the server, 5 s of service", 4, 5+clockSeconds)
		say("the machine jumps +2 h, then -2 h under the server: %v %v %s", err, err2, story(c, "j"))
		return s
	})
	setTS("+2d")
	run("future", fake, nil, func(s *Server, c *grpc.ClientConn) *Server {
		must(createTimed(c, "f", "60+0", "lichess"))
		timedMove(c, "f", 0, "e2e4")
		time.Sleep(1500 * time.Millisecond)
		say("stop %s", s.Stop())
		setTS("+0")
		s = Start(*port, store, fake, nil)
		s.Ready(20 * time.Second)
		time.Sleep(3 * time.Second)
		_, err := timedMove(c, "f", 1, "e7e5")
		must(createTimed(c, "n", "60+0", "lichess"))
		time.Sleep(time.Second)
		_, err2 := timedMove(c, "n", 0, "e2e4")
		time.Sleep(time.Second)
		s.Kill()
		time.Sleep(7 * time.Second)
		s = Start(*port, store, fake, nil)
		s.Ready(20 * time.Second)
		time.Sleep(500 * time.Millisecond)
		_, err3 := timedMove(c, "n", 1, "e7e5")
		need(err == nil && err2 == nil && err3 == nil, "moves on a machine that once ran ahead: %v %v %v", err, err2, err3)
		chargedAbout(c, "n", "2 s of service, and 7 s down, after the machine once ran 2 d ahead", 1, 2.5+clockSeconds)
		charged := chargedOf(c, "f")
		need(charged >= 2.5, "a game begun when the machine ran 2 d ahead gets its time for nothing: %.1f s charged", charged)
		say("a game begun when the machine was 2 d ahead, then 3 s in the right time: %v %s", err, story(c, "f"))
		say("a new game after the clock was put right; kill -9, 7 s down: %v %v %s", err2, err3, story(c, "n"))
		return s
	})
	setTS("+30m")
	run("ahead30m", fake, nil, func(s *Server, c *grpc.ClientConn) *Server {
		must(createTimed(c, "f", "60+0", "lichess"))
		time.Sleep(1500 * time.Millisecond)
		say("stop %s", s.Stop())
		setTS("+0")
		s = Start(*port, store, fake, nil)
		s.Ready(20 * time.Second)
		time.Sleep(2 * time.Second)
		s.Kill()
		time.Sleep(8 * time.Second)
		s = Start(*port, store, fake, nil)
		s.Ready(20 * time.Second)
		time.Sleep(500 * time.Millisecond)
		_, err := timedMove(c, "f", 0, "e2e4")
		need(err == nil, "a move on a machine that once ran ahead: %v", err)
		chargedAbout(c, "f", "1.5 s and 2.5 s of service, and 8 s down, after the machine once ran 30 min ahead", 1, 4.5+2*clockSeconds)
		say("30 min ahead, put right, 2 s, kill -9, 8 s down: %v %s", err, story(c, "f"))
		return s
	})
}
