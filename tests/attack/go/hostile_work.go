// Attacks by questions that take much work or memory.
package main

import (
	"context"
	"fmt"
	"math/rand"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	pb "referee/v1"
)

func attackCpu(s *Server, say sayer) {
	c := dial(s.Addr())
	defer c.Close()
	mv := plan(3, 3000)
	req := &pb.AdjudicatePositionRequest{Position: &pb.Position{Moves: mv}}
	long := longHistory(20_000)
	reqs := map[string]func(ctx context.Context) error{
		"adjudicate 3,000 plies": func(ctx context.Context) error { _, err := rules(c).AdjudicatePosition(ctx, req); return err },
		"convert 20,000 SAN": func(ctx context.Context) error {
			_, err := rules(c).ConvertNotation(ctx, &pb.ConvertNotationRequest{Position: &pb.Position{Moves: long}, Target: pb.Notation_NOTATION_LAN})
			return err
		},
		"validate after 20,000": func(ctx context.Context) error {
			_, err := rules(c).ValidateMove(ctx, &pb.ValidateMoveRequest{Position: &pb.Position{Moves: long}, Move: "e2e4"})
			return err
		},
		"adjudicate 20,000 ics": func(ctx context.Context) error {
			_, err := rules(c).AdjudicatePosition(ctx, &pb.AdjudicatePositionRequest{Position: &pb.Position{Moves: long}, RuleProfile: &pb.RuleProfile{Name: "ics"}})
			return err
		},
		"list profiles": func(ctx context.Context) error {
			_, err := rules(c).ListRuleProfiles(ctx, &pb.ListRuleProfilesRequest{})
			return err
		},
	}
	for name, f := range reqs {
		ctx, cancel := ctxT(30 * time.Second)
		f(ctx)
		c0, t := s.CPU(), time.Now()
		var err error
		const k = 10
		for i := 0; i < k; i++ {
			err = f(ctx)
		}
		say("one %s: %v wall, %v CPU, %s", name, time.Since(t)/k, (s.CPU()-c0)/k, codeOf(err))
		cancel()
	}
	for _, name := range []string{"adjudicate 20,000 ics"} {
		for _, par := range []int{4, 64, 900} {
			p := StartProbe(s.Addr(), "probe-cpu", 50*time.Millisecond)
			ctx, cancel := ctxT(14 * time.Second)
			var n, bad atomic.Int64
			var wg sync.WaitGroup
			for i := 0; i < par; i++ {
				wg.Add(1)
				go func() {
					defer wg.Done()
					for ctx.Err() == nil {
						if reqs[name](ctx) == nil {
							n.Add(1)
						} else {
							bad.Add(1)
						}
					}
				}()
			}
			wg.Wait()
			cancel()
			p.Stop(fmt.Sprintf("%d x %s", par, name))
			rss, peak := s.RSS()
			say("%d parallel %s for 14 s: %d done %d failed, RSS %d peak %d", par, name, n.Load(), bad.Load(), rss, peak)
		}
	}
}

func attackCanmate(s *Server, say sayer) {
	c := dial(s.Addr())
	defer c.Close()
	fen := "8/B4b2/2k5/1p1p4/1P1Pp1pB/1pp1P1P1/1p6/bK3b2 b - - 0 1"
	for _, fe := range []string{fen, "8/8/1p1p1p1p/1P1P1P1P/p1p1p1p1/P1P1P1P1/1B4b1/K6k w - - 0 1", "4k3/8/8/p2p2p1/P2P2P1/8/8/4K3 w - - 0 1"} {
		t := time.Now()
		ctx, cancel := ctxT(60 * time.Second)
		r, err := rules(c).CanMate(ctx, &pb.CanMateRequest{Position: &pb.Position{Base: &pb.Position_Fen{Fen: fe}}, BudgetNodes: 10_000_000})
		cancel()
		say("CanMate %s: %v %v %v %s", fe, time.Since(t), r.GetWhite().GetCanMate(), r.GetBlack().GetCanMate(), codeOf(err))
	}
	p := StartProbe(s.Addr(), "probe-cm", 50*time.Millisecond)
	var wg sync.WaitGroup
	codes := map[string]int{}
	var mu sync.Mutex
	ctx, cancel := ctxT(15 * time.Second)
	for i := 0; i < 100; i++ {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for ctx.Err() == nil {
				_, err := rules(c).CanMate(ctx, &pb.CanMateRequest{Position: &pb.Position{Base: &pb.Position_Fen{Fen: fen}}, BudgetNodes: 10_000_000})
				mu.Lock()
				codes[codeOf(err)]++
				mu.Unlock()
				if codeOf(err) == "ResourceExhausted" {
					time.Sleep(50 * time.Millisecond)
				}
			}
		}()
	}
	wg.Wait()
	cancel()
	p.Stop("100 x CanMate 10M")
	rss, peak := s.RSS()
	say("100 parallel CanMate for 15 s: %v, RSS %d peak %d MiB", codes, rss, peak)
	time.Sleep(2 * time.Second)
	c0 := s.CPU()
	time.Sleep(2 * time.Second)
	say("CPU 2 s after all clients left: %.0f%%", float64(s.CPU()-c0)/2e7)
}

func attackImport(s *Server, say sayer) {
	c := dial(s.Addr())
	defer c.Close()
	text := longText()
	for _, k := range []int{1, 16} {
		p := StartProbe(s.Addr(), fmt.Sprintf("probe-im%d", k), 50*time.Millisecond)
		t := time.Now()
		var wg sync.WaitGroup
		codes := map[string]int{}
		var mu sync.Mutex
		for i := 0; i < k; i++ {
			wg.Add(1)
			go func() {
				defer wg.Done()
				ctx, cancel := ctxT(60 * time.Second)
				defer cancel()
				_, err := games(c).ImportPgn(ctx, &pb.ImportPgnRequest{Pgn: text, GameId: fmt.Sprintf("im%d-%d", k, i), RequestId: fmt.Sprintf("im%d-%d", k, i), RuleProfile: &pb.RuleProfile{Name: "ics"}})
				mu.Lock()
				codes[fmt.Sprintf("%s %.90v", codeOf(err), err)]++
				mu.Unlock()
			}()
		}
		wg.Wait()
		rss, peak := s.RSS()
		say("%d ImportPgn of 20,000 plies: %v %v RSS %d peak %d", k, time.Since(t), codes, rss, peak)
		p.Stop(fmt.Sprint(k, " imports"))
	}
}

// A short text or action that asks for much thinking.
func attackHard(s *Server, say sayer) {
	const fen = "8/B4b2/2k5/1p1p4/1P1Pp1pB/1pp1P1P1/1p6/bK3b2 b - - 0 1"
	c := dial(s.Addr())
	defer c.Close()
	ctx, cancel := ctxT(100 * time.Second)
	defer cancel()
	for _, k := range size([]int{1, 8}, []int{1}) {
		st, err := rules(c).VerifyGames(ctx)
		must(err)
		text := strings.Repeat("[FEN \""+fen+"\"]\n[Result \"1-0\"]\n\n1... Kb7 1-0\n\n", k)
		c0, t0 := s.CPU(), time.Now()
		st.Send(&pb.VerifyGamesRequest{Kind: &pb.VerifyGamesRequest_Pgn{Pgn: []byte(text)}})
		st.CloseSend()
		n := 0
		for {
			r, err := st.Recv()
			if err != nil {
				break
			}
			n++
			if n == 1 {
				say("first verdict: sound %v, findings %.200v", r.Sound, r.Findings)
			}
		}
		say("VerifyGames of %d hard endings (%d bytes): %d verdicts, %v CPU, %v wall", k, len(text), n, s.CPU()-c0, time.Since(t0))
	}
	resign := func(id string) (time.Duration, string) {
		_, err := games(c).CreateGame(ctx, &pb.CreateGameRequest{GameId: id, RequestId: id, Game: &pb.Game{InitialPosition: &pb.Position{Base: &pb.Position_Fen{Fen: fen}}}})
		if err != nil {
			return 0, err.Error()
		}
		t := time.Now()
		r, err := games(c).SubmitAction(ctx, &pb.SubmitActionRequest{Name: "games/" + id, Action: &pb.Action{Seat: pb.Seat_SEAT_BLACK, RequestId: "r", Kind: &pb.Action_Resign{Resign: &pb.Resign{}}}})
		return time.Since(t), fmt.Sprintf("%v provisional=%v %v", r.GetEvent().GetOutcome().GetTermination(), r.GetEvent().GetOutcome().GetProvisional(), err)
	}
	c0 := s.CPU()
	d, what := resign("h0")
	say("one resignation in a hard ending: %v, CPU %v: %s", d, s.CPU()-c0, what)
	p := StartProbe(s.Addr(), "probe-hard", 50*time.Millisecond)
	c0, t0 := s.CPU(), time.Now()
	var wg sync.WaitGroup
	for i := 1; i <= size(24, 4); i++ {
		wg.Add(1)
		go func() { defer wg.Done(); resign(fmt.Sprintf("h%d", i)) }()
	}
	wg.Wait()
	rss, peak := s.RSS()
	say("the others at once: %v, CPU %v, RSS %d peak %d", time.Since(t0), s.CPU()-c0, rss, peak)
	time.Sleep(3 * time.Second)
	p.Stop("hard resignations")
	c0 = s.CPU()
	time.Sleep(5 * time.Second)
	rss, peak = s.RSS()
	say("5 s after the answers: CPU %.0f%%, RSS %d peak %d (the second look)", float64(s.CPU()-c0)/5e7, rss, peak)
}

func attackCache(s *Server, say sayer) {
	c := dial(s.Addr())
	defer c.Close()
	ctx, cancel := ctxT(100 * time.Second)
	defer cancel()
	long := longHistory(19_996)
	r0, _ := s.RSS()
	c0, t0 := s.CPU(), time.Now()
	const k = 40
	for i := 0; i < k; i++ {
		id := fmt.Sprintf("big%d", i)
		_, err := games(c).CreateGame(ctx, &pb.CreateGameRequest{GameId: id, RequestId: id, Game: &pb.Game{RuleProfile: &pb.RuleProfile{Name: "ics"}, InitialPosition: &pb.Position{Moves: long}}})
		if err != nil {
			say("%v", err)
			return
		}
	}
	say("CreateGame taken over at ply 19,996: %v CPU, %v wall each", (s.CPU()-c0)/k, time.Since(t0)/k)
	r1, _ := s.RSS()
	c0, t0 = s.CPU(), time.Now()
	for i := 0; i < k; i++ {
		games(c).GetGame(ctx, &pb.GetGameRequest{Name: fmt.Sprintf("games/big%d", i)})
	}
	r2, peak := s.RSS()
	say("GetGame cold: %v CPU each; RSS %d -> %d after the creations -> %d with %d in memory (peak %d): %d KB a game, 4,096 of them %d MiB", (s.CPU()-c0)/k, r0, r1, r2, k, peak, (r2-r1)*1024/k, (r2-r1)*4096/k)
	c0, t0 = s.CPU(), time.Now()
	for i := 0; i < 200; i++ {
		games(c).GetGame(ctx, &pb.GetGameRequest{Name: "games/big1"})
	}
	say("GetGame warm: %v CPU, %v wall each", (s.CPU()-c0)/200, time.Since(t0)/200)
	c0, t0 = s.CPU(), time.Now()
	for i := 0; i < 4; i++ {
		_, err := games(c).SubmitAction(ctx, &pb.SubmitActionRequest{Name: "games/big1", Action: moveAction(seatOf(i), fmt.Sprint("m", i), long[i])})
		if err != nil {
			say("move: %v", err)
		}
	}
	say("a move at ply 19,996: %v CPU, %v wall each", (s.CPU()-c0)/4, time.Since(t0)/4)
}

// All that takes memory, at once: the solver, games in memory, answers that are not read,
// messages that do not end, and long texts.
func attackTogether(s *Server, say sayer) {
	c := dial(s.Addr())
	defer c.Close()
	makeUnread(c, "together", 1000)
	ctx, cancel := context.WithTimeout(context.Background(), size(60*time.Second, 15*time.Second))
	defer cancel()
	p := StartProbe(s.Addr(), "probe-tg", 50*time.Millisecond)
	var wg sync.WaitGroup
	again := func(times int, f func(i int) error) {
		for k := 0; k < times; k++ {
			wg.Add(1)
			go func() {
				defer wg.Done()
				for i := k; ctx.Err() == nil; i += times {
					if f(i) != nil {
						time.Sleep(50 * time.Millisecond)
					}
				}
			}()
		}
	}
	hard := &pb.Position{Base: &pb.Position_Fen{Fen: "8/B4b2/2k5/1p1p4/1P1Pp1pB/1pp1P1P1/1p6/bK3b2 b - - 0 1"}}
	again(16, func(int) error {
		_, err := rules(c).CanMate(ctx, &pb.CanMateRequest{Position: hard, BudgetNodes: 10_000_000})
		return err
	})
	again(8, func(i int) error {
		id := fmt.Sprintf("tg%d", i)
		if _, err := games(c).CreateGame(ctx, &pb.CreateGameRequest{GameId: id, RequestId: id, Game: &pb.Game{InitialPosition: hard}}); err != nil {
			return err
		}
		_, err := games(c).SubmitAction(ctx, &pb.SubmitActionRequest{Name: "games/" + id, Action: &pb.Action{Seat: pb.Seat_SEAT_BLACK, RequestId: "r", Kind: &pb.Action_Resign{Resign: &pb.Resign{}}}})
		return err
	})
	long, text := longHistory(19_996), longText()
	again(4, func(i int) error {
		id := fmt.Sprintf("tl%d", i)
		_, err := games(c).CreateGame(ctx, &pb.CreateGameRequest{GameId: id, RequestId: id, Game: &pb.Game{RuleProfile: &pb.RuleProfile{Name: "ics"}, InitialPosition: &pb.Position{Moves: long}}})
		if err == nil {
			_, err = games(c).GetGame(ctx, &pb.GetGameRequest{Name: "games/" + id})
		}
		return err
	})
	again(16, func(i int) error {
		_, err := games(c).ImportPgn(ctx, &pb.ImportPgnRequest{Pgn: text, GameId: fmt.Sprintf("ti%d", i), RequestId: "t", RuleProfile: &pb.RuleProfile{Name: "ics"}})
		return err
	})
	again(16, func(int) error {
		_, err := rules(c).AdjudicatePosition(ctx, &pb.AdjudicatePositionRequest{Position: &pb.Position{Moves: long}, RuleProfile: &pb.RuleProfile{Name: "ics"}})
		return err
	})
	rs, _, _ := unread(s.Addr(), "games/together")
	parts, sent := unfinished(s.Addr(), 8, 100)
	wg.Wait()
	p.Stop("everything at once")
	rss, peak := s.RSS()
	say("everything at once, with %d MiB of messages that do not end: RSS %d peak %d", sent>>20, rss, peak)
	for _, r := range append(rs, parts...) {
		r.Close()
	}
}

// Can an anonymous client make the clocks of all games stand still?
func attackFreeze(s *Server, say sayer) {
	c, c2 := dial(s.Addr()), dial(s.Addr())
	defer c.Close()
	defer c2.Close()
	text := longText()
	long := longHistory(20_000)
	one := func(kind string) error {
		ctx, cancel := ctxT(25 * time.Second)
		defer cancel()
		if kind == "ImportPgn" {
			_, err := games(c).ImportPgn(ctx, &pb.ImportPgnRequest{Pgn: text + " x", GameId: fmt.Sprintf("z%d", rand.Int63()), RequestId: "z", RuleProfile: &pb.RuleProfile{Name: "ics"}})
			return err
		}
		_, err := rules(c).AdjudicatePosition(ctx, &pb.AdjudicatePositionRequest{Position: &pb.Position{Moves: long}, RuleProfile: &pb.RuleProfile{Name: "ics"}})
		return err
	}
	for k, kind := range []string{"AdjudicatePosition", "ImportPgn"} {
		id := fmt.Sprintf("clock%d", k)
		must(createTimed(c2, id, "3600+0", "lichess"))
		begin := time.Now()
		p := StartProbe(s.Addr(), "probe-fr", 100*time.Millisecond)
		var n, bytes atomic.Int64
		var wg sync.WaitGroup
		for i := 0; i < size(48, 12); i++ {
			wg.Add(1)
			go func() {
				defer wg.Done()
				for time.Since(begin) < size(20*time.Second, 6*time.Second) {
					one(kind)
					n.Add(1)
					bytes.Add(100_000)
				}
			}()
		}
		wg.Wait()
		p.Stop(kind)
		_, err := timedMove(c2, id, 0, "e2e4")
		wall := time.Since(begin)
		charged := chargedOf(c2, id)
		need(charged >= wall.Seconds()-2*clockSeconds && charged <= wall.Seconds()+clockSeconds, "freeze: a clock was charged %.1f s of %.1f s", charged, wall.Seconds())
		say("%s: %d requests of 100 KB in %v; a clock that ran all the time: %v %s", kind, n.Load(), wall.Round(time.Second), err, story(c2, id))
	}
}
