// Signals and shutdown under load, and a log that nobody reads any more.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"

	pb "referee/v1"

	"golang.org/x/net/http2"
)

func init() { commands["stop"] = stop }

// The scenarios of the small run.
var smallStop = map[string]bool{"SIGTERM, silent clients and streams": true, "SIGHUP, then SIGTERM": true, "SIGTERM, 64 x CanMate": true, "SIGTERM, 200 x adjudicate 20,000": true, "SIGTERM, 8 hard resignations": true, "SIGTERM, a disk that hangs": true, "SIGTERM, imports": true}

func stop(args []string) {
	f := flag.NewFlagSet("stop", flag.ExitOnError)
	port := f.Int("port", 51270, "")
	preload := f.String("preload", base+"/faultdisk.so", "")
	f.Parse(args)
	want := map[string]bool{}
	for _, a := range f.Args() {
		want[a] = true
	}
	dir := fmt.Sprintf("%s/stop-%d", base, *port)
	store, ctl := dir+"/referee.db", dir+".ctl"
	say := func(f string, a ...any) { fmt.Printf("  "+f+"\n", a...) }
	long := longHistory(20_000)
	run := func(name string, drain string, fn func(s *Server, gs []*dgame) func()) {
		if len(want) > 0 && !want[name] || small && !smallStop[name] {
			return
		}
		os.RemoveAll(dir)
		os.WriteFile(ctl, []byte("off"), 0o644)
		s := Start(*port, store, []string{"LD_PRELOAD=" + *preload, "ADV_FILE=" + ctl, "ADV_MATCH=referee.db"}, nil, "--drain-timeout-seconds", drain)
		_, err := s.Ready(20 * time.Second)
		must(err)
		gs := mkGames(40, "q")
		var wg sync.WaitGroup
		wg.Add(1)
		go func() { loadFor(s.Addr(), gs, size(4*time.Second, 2*time.Second)); wg.Done() }()
		time.Sleep(size(1500*time.Millisecond, 800*time.Millisecond))
		clean := fn(s, gs)
		t := time.Now()
		st, ended := s.Wait(60 * time.Second)
		d := time.Since(t)
		if !ended {
			s.Kill()
		}
		if clean != nil {
			clean()
		}
		wg.Wait()
		s = Start(*port, store, nil, nil)
		s.Ready(20 * time.Second)
		late := 3 + exitLateSeconds
		if drain == "5" {
			late += 2
		}
		need(ended && st == "exit status 0" && d.Seconds() <= late, "%s: %s after %.1f s, where the drain is %s s", name, st, d.Seconds(), drain)
		say("%-36s drain %s s: %s after %.1f s; then %s", name, drain, st, d.Seconds(), checkAll(s.Addr(), gs))
		s.Kill()
	}
	silent := func(s *Server) func() {
		var cs []net.Conn
		for i := 0; i < 50; i++ {
			c, err := net.Dial("tcp", s.Addr())
			must(err)
			cs = append(cs, c)
		}
		r, err := rawDial(s.Addr())
		must(err)
		r.fr.WriteSettingsAck()
		for i := 0; i < 20; i++ {
			r.headers(M+"GameService/PlayGame", false)
			r.headers(M+"RulesService/VerifyGames", false)
		}
		id := r.headers(M+"RulesService/ValidateMove", false)
		r.fr.WriteData(id, false, []byte{0, 0, 0, 1, 0, 1})
		go func() {
			for {
				f, err := r.fr.ReadFrame()
				if err != nil {
					return
				}
				if p, ok := f.(*http2.PingFrame); ok && !p.IsAck() {
					r.fr.WritePing(true, p.Data)
				}
			}
		}()
		time.Sleep(200 * time.Millisecond)
		return func() {
			for _, c := range cs {
				c.Close()
			}
			r.Close()
		}
	}
	run("SIGTERM, load only", "3", func(s *Server, gs []*dgame) func() { s.Signal(syscall.SIGTERM); return nil })
	run("SIGTERM, silent clients and streams", "3", func(s *Server, gs []*dgame) func() { c := silent(s); s.Signal(syscall.SIGTERM); return c })
	run("SIGTERM twice", "5", func(s *Server, gs []*dgame) func() {
		c := silent(s)
		s.Signal(syscall.SIGTERM)
		time.Sleep(500 * time.Millisecond)
		s.Signal(syscall.SIGTERM)
		return c
	})
	run("SIGINT", "3", func(s *Server, gs []*dgame) func() { s.Signal(syscall.SIGINT); return nil })
	run("SIGHUP, then SIGTERM", "3", func(s *Server, gs []*dgame) func() {
		s.Signal(syscall.SIGHUP)
		time.Sleep(300 * time.Millisecond)
		s.Signal(syscall.SIGTERM)
		return nil
	})
	run("SIGPIPE, then SIGTERM", "3", func(s *Server, gs []*dgame) func() {
		s.Signal(syscall.SIGPIPE)
		time.Sleep(300 * time.Millisecond)
		s.Signal(syscall.SIGTERM)
		return nil
	})
	run("SIGTERM, 64 x CanMate", "3", func(s *Server, gs []*dgame) func() {
		ctx, cancel := context.WithCancel(context.Background())
		c := dial(s.Addr())
		for i := 0; i < 64; i++ {
			go rules(c).CanMate(ctx, &pb.CanMateRequest{Position: &pb.Position{Base: &pb.Position_Fen{Fen: "8/B4b2/2k5/1p1p4/1P1Pp1pB/1pp1P1P1/1p6/bK3b2 b - - 0 1"}}, BudgetNodes: 10_000_000})
		}
		time.Sleep(time.Second)
		s.Signal(syscall.SIGTERM)
		return func() { cancel(); c.Close() }
	})
	run("SIGTERM, 200 x adjudicate 20,000", "3", func(s *Server, gs []*dgame) func() {
		ctx, cancel := context.WithCancel(context.Background())
		c := dial(s.Addr())
		for i := 0; i < 200; i++ {
			go rules(c).AdjudicatePosition(ctx, &pb.AdjudicatePositionRequest{Position: &pb.Position{Moves: long}, RuleProfile: &pb.RuleProfile{Name: "ics"}})
		}
		time.Sleep(time.Second)
		s.Signal(syscall.SIGTERM)
		return func() { cancel(); c.Close() }
	})
	run("SIGTERM, 4 hard second looks wait", "3", func(s *Server, gs []*dgame) func() {
		c := dial(s.Addr())
		var wg sync.WaitGroup
		for i := 0; i < 4; i++ {
			wg.Add(1)
			go func() {
				defer wg.Done()
				ctx, cancel := ctxT(20 * time.Second)
				defer cancel()
				id := fmt.Sprintf("hard%d", i)
				games(c).CreateGame(ctx, &pb.CreateGameRequest{GameId: id, RequestId: id, Game: &pb.Game{InitialPosition: &pb.Position{Base: &pb.Position_Fen{Fen: "8/B4b2/2k5/1p1p4/1P1Pp1pB/1pp1P1P1/1p6/bK3b2 w - - 0 1"}}}})
				games(c).SubmitAction(ctx, &pb.SubmitActionRequest{Name: "games/" + id, Action: moveAction(pb.Seat_SEAT_WHITE, "m", "Bb8")})
			}()
		}
		wg.Wait()
		s.Signal(syscall.SIGTERM)
		return func() { c.Close() }
	})
	run("SIGTERM, 8 hard resignations", "3", func(s *Server, gs []*dgame) func() {
		c := dial(s.Addr())
		ctx, cancel := ctxT(60 * time.Second)
		for i := 0; i < 8; i++ {
			id := fmt.Sprintf("hard%d", i)
			games(c).CreateGame(ctx, &pb.CreateGameRequest{GameId: id, RequestId: id, Game: &pb.Game{InitialPosition: &pb.Position{Base: &pb.Position_Fen{Fen: "8/B4b2/2k5/1p1p4/1P1Pp1pB/1pp1P1P1/1p6/bK3b2 b - - 0 1"}}}})
			go games(c).SubmitAction(ctx, &pb.SubmitActionRequest{Name: "games/" + id, Action: &pb.Action{Seat: pb.Seat_SEAT_BLACK, RequestId: "r", Kind: &pb.Action_Resign{Resign: &pb.Resign{}}}})
		}
		time.Sleep(500 * time.Millisecond)
		s.Signal(syscall.SIGTERM)
		return func() { cancel(); c.Close() }
	})
	run("SIGTERM, a disk that hangs", "3", func(s *Server, gs []*dgame) func() {
		os.WriteFile(ctl, []byte("slow 60000"), 0o644)
		time.Sleep(500 * time.Millisecond)
		s.Signal(syscall.SIGTERM)
		return nil
	})
	run("SIGTERM, imports", "3", func(s *Server, gs []*dgame) func() {
		ctx, cancel := context.WithCancel(context.Background())
		c := dial(s.Addr())
		text := longText()
		for i := 0; i < 12; i++ {
			id := fmt.Sprintf("im%d", i)
			go games(c).ImportPgn(ctx, &pb.ImportPgnRequest{Pgn: text, GameId: id, RequestId: id, RuleProfile: &pb.RuleProfile{Name: "ics"}})
		}
		time.Sleep(2 * time.Second)
		s.Signal(syscall.SIGTERM)
		return func() { cancel(); c.Close() }
	})
	run("SIGTERM, VerifyGames of hard endings", "3", func(s *Server, gs []*dgame) func() {
		ctx, cancel := context.WithCancel(context.Background())
		c := dial(s.Addr())
		for i := 0; i < 16; i++ {
			st, err := rules(c).VerifyGames(ctx)
			if err != nil {
				continue
			}
			go func() {
				for k := 0; k < 50; k++ {
					st.Send(&pb.VerifyGamesRequest{Kind: &pb.VerifyGamesRequest_Pgn{Pgn: []byte("[FEN \"8/B4b2/2k5/1p1p4/1P1Pp1pB/1pp1P1P1/1p6/bK3b2 b - - 0 1\"]\n\n1... Kb7 1-0\n\n")}})
				}
			}()
		}
		time.Sleep(time.Second)
		s.Signal(syscall.SIGTERM)
		return func() { cancel(); c.Close() }
	})
	if len(want) == 0 || want["logpipe"] {
		os.RemoveAll(dir)
		os.MkdirAll(dir, 0o755)
		os.WriteFile(ctl, []byte("off"), 0o644)
		rd, wr, _ := os.Pipe()
		cmd := exec.Command(refereeBinary, "serve", "--listen", fmt.Sprintf("127.0.0.1:%d", *port), "--store", store)
		cmd.Env = append(os.Environ(), "LD_PRELOAD="+*preload, "ADV_FILE="+ctl, "ADV_MATCH=referee.db")
		cmd.Stderr = wr
		must(cmd.Start())
		wr.Close()
		go func() { b := make([]byte, 4096); rd.Read(b); rd.Close() }()
		s := &Server{Port: *port, Cmd: cmd, Log: "/dev/null", done: make(chan struct{})}
		go func() { cmd.Wait(); s.state = cmd.ProcessState; close(s.done) }()
		s.Ready(10 * time.Second)
		gs := mkGames(20, "q")
		a := loadFor(s.Addr(), gs, time.Second)
		os.WriteFile(ctl, []byte("full"), 0o644)
		b := loadFor(s.Addr(), gs, 1500*time.Millisecond)
		os.WriteFile(ctl, []byte("off"), 0o644)
		c := loadFor(s.Addr(), gs, 3*time.Second)
		say("log pipe closed, disk fault for 1.5 s: before %v; under %v; after %v; health %s", a, b, c, health(s.Addr()))
		s.Signal(syscall.SIGTERM)
		st, ended := s.Wait(15 * time.Second)
		say("SIGTERM: %s %v", st, ended)
		need(st == "exit status 0", "the reader of the log is gone: SIGTERM: %s", st)
		need(c["OK"] > 0, "the log pipe was closed and the disk full for 1.5 s: nothing is taken afterwards: %v", c)
		if !ended {
			s.Kill()
		}
		s = Start(*port, store, nil, nil)
		s.Ready(20 * time.Second)
		say("restart: %s", checkAll(s.Addr(), gs))
		s.Kill()
	}
	if len(want) == 0 && !small || want["logpause"] {
		// The reader of the log is gone, and the process stands still for 7 s once.
		os.RemoveAll(dir)
		os.MkdirAll(dir, 0o755)
		rd, wr, _ := os.Pipe()
		cmd := exec.Command(refereeBinary, "serve", "--listen", fmt.Sprintf("127.0.0.1:%d", *port), "--store", store)
		cmd.Stderr = wr
		must(cmd.Start())
		wr.Close()
		go func() { b := make([]byte, 4096); rd.Read(b); rd.Close() }()
		s := &Server{Port: *port, Cmd: cmd, Log: "/dev/null", done: make(chan struct{})}
		go func() { cmd.Wait(); s.state = cmd.ProcessState; close(s.done) }()
		s.Ready(10 * time.Second)
		c := dial(s.Addr())
		must(createTimed(c, "t", "600+0", "lichess"))
		moves := plan(1, 20)
		_, err := timedMove(c, "t", 0, moves[0])
		say("before: %v", err)
		s.Signal(syscall.SIGSTOP)
		time.Sleep(7 * time.Second)
		s.Signal(syscall.SIGCONT)
		time.Sleep(500 * time.Millisecond)
		for i := 1; i < 5; i++ {
			_, err := timedMove(c, "t", i, moves[i])
			say("a move after the pause: %v", err)
			need(err == nil, "the reader of the log is gone: a move after a pause: %v", err)
			if i == 2 {
				time.Sleep(7 * time.Second)
			}
		}
		say("the clocks: %s; health %s", story(c, "t"), health(s.Addr()))
		charged := chargedOf(c, "t")
		need(charged < 7+0.5+clockSeconds+2, "the reader of the log is gone: a stop of 7 s was charged, %.1f s in all", charged)
		s.Signal(syscall.SIGTERM)
		st, ended := s.Wait(15 * time.Second)
		say("SIGTERM: %s %v", st, ended)
		need(st == "exit status 0", "the reader of the log is gone: SIGTERM: %s", st)
		if !ended {
			s.Kill()
		}
		c.Close()
	}
	if len(want) == 0 || want["logstuck"] {
		// A log pipe that is open and full: nobody reads.
		os.RemoveAll(dir)
		os.MkdirAll(dir, 0o755)
		os.WriteFile(ctl, []byte("off"), 0o644)
		rd, wr, _ := os.Pipe()
		cmd := exec.Command(refereeBinary, "serve", "--listen", fmt.Sprintf("127.0.0.1:%d", *port), "--store", store)
		cmd.Env = append(os.Environ(), "LD_PRELOAD="+*preload, "ADV_FILE="+ctl, "ADV_MATCH=referee.db")
		cmd.Stderr = wr
		must(cmd.Start())
		wr.Close()
		s := &Server{Port: *port, Cmd: cmd, Log: "/dev/null", done: make(chan struct{})}
		go func() { cmd.Wait(); s.state = cmd.ProcessState; close(s.done) }()
		s.Ready(10 * time.Second)
		gs := mkGames(20, "q")
		a := loadFor(s.Addr(), gs, time.Second)
		os.WriteFile(ctl, []byte("full"), 0o644)
		b := loadFor(s.Addr(), gs, 3*time.Second)
		os.WriteFile(ctl, []byte("off"), 0o644)
		c := loadFor(s.Addr(), gs, 3*time.Second)
		say("log pipe full, disk fault for 3 s: before %v; under %v; after %v; health %s", a, b, c, health(s.Addr()))
		need(a["OK"] > 0 && c["OK"] > 0, "nobody reads the log: the service stands still: %v before, %v under a fault, %v after", a, b, c)
		go io.Copy(io.Discard, rd)
		time.Sleep(time.Second)
		say("when the log is read again: %v", loadFor(s.Addr(), gs, time.Second))
		st := s.Stop()
		say("stop: %s", st)
		need(st == "exit status 0", "nobody read the log: SIGTERM: %s", st)
		rd.Close()
	}
}
