// Growth: many games and events, long games, the cost of a move against the ply.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"time"

	pb "referee/v1"

	"google.golang.org/grpc"
)

func init() { commands["growth"] = growth; commands["plycost"] = plycost }

func timeIt(n int, f func(i int) error) string {
	var h Hist
	for i := 0; i < n; i++ {
		t := time.Now()
		err := f(i)
		h.add(time.Since(t), err)
	}
	return h.String()
}

func growth(args []string) {
	f := flag.NewFlagSet("growth", flag.ExitOnError)
	port := f.Int("port", 51250, "")
	n := f.Int("games", 100000, "")
	plies := f.Int("plies", 20, "")
	limit := f.Duration("limit", 9*time.Minute, "")
	conc := f.Int("conc", 512, "")
	f.Parse(args)
	dir := fmt.Sprintf("%s/growth-%d", base, *port)
	os.RemoveAll(dir)
	store := dir + "/referee.db"
	begin := time.Now()
	s := Start(*port, store, nil, nil, "--log", "warn")
	_, err := s.Ready(10 * time.Second)
	must(err)
	var made, events atomic.Int64
	report := func(label string) {
		c := dial(s.Addr())
		defer c.Close()
		ctx, cancel := ctxT(60 * time.Second)
		defer cancel()
		k := int(made.Load())
		fi, _ := os.Stat(store)
		wal, _ := os.Stat(store + "-wal")
		rss, peak := s.RSS()
		fmt.Printf("== %s: %d games, %d events, db %d MB, wal %d MB, RSS %d peak %d MiB, %v\n", label, k, events.Load(), fi.Size()>>20, wal.Size()>>20, rss, peak, time.Since(begin).Round(time.Second))
		if k == 0 {
			return
		}
		fmt.Println("   GetGame cold  ", timeIt(60, func(i int) error {
			_, err := games(c).GetGame(ctx, &pb.GetGameRequest{Name: fmt.Sprintf("games/g%d", (i*7919)%k)})
			return err
		}))
		fmt.Println("   GetGame warm  ", timeIt(60, func(i int) error {
			_, err := games(c).GetGame(ctx, &pb.GetGameRequest{Name: "games/g0"})
			return err
		}))
		fmt.Println("   ListGames 50  ", timeIt(30, func(i int) error { _, err := games(c).ListGames(ctx, &pb.ListGamesRequest{}); return err }))
		fmt.Println("   List label    ", timeIt(10, func(i int) error {
			_, err := games(c).ListGames(ctx, &pb.ListGamesRequest{Filter: &pb.GameFilter{Labels: map[string]string{"round": fmt.Sprint(i)}}})
			return err
		}))
		fmt.Println("   List finished ", timeIt(10, func(i int) error {
			_, err := games(c).ListGames(ctx, &pb.ListGamesRequest{Filter: &pb.GameFilter{States: []pb.Game_State{pb.Game_STATE_FINISHED}}})
			return err
		}))
		fmt.Println("   List 2 labels, nothing fits", timeIt(5, func(i int) error {
			_, err := games(c).ListGames(ctx, &pb.ListGamesRequest{Filter: &pb.GameFilter{Labels: map[string]string{"round": "3", "odd": "no"}}})
			return err
		}))
		fmt.Println("   Watch to 1st  ", timeIt(30, func(i int) error {
			cc, cn := context.WithCancel(ctx)
			defer cn()
			st, err := games(c).WatchGame(cc, &pb.WatchGameRequest{Name: fmt.Sprintf("games/g%d", (i*104729)%k)})
			if err != nil {
				return err
			}
			_, err = st.Recv()
			return err
		}))
	}
	moves := plan(1, 3000)
	conns := []*grpc.ClientConn{dial(s.Addr()), dial(s.Addr()), dial(s.Addr()), dial(s.Addr())}
	next := atomic.Int64{}
	steps := []int{*n / 10, *n / 2, *n}
	var fails atomic.Int64
	for _, upto := range steps {
		t0, e0 := time.Now(), events.Load()
		var wg sync.WaitGroup
		for w := 0; w < *conc; w++ {
			wg.Add(1)
			go func() {
				defer wg.Done()
				c := games(conns[w%4])
				for time.Since(begin) < *limit {
					i := int(next.Add(1) - 1)
					if i >= upto {
						next.Add(-1)
						return
					}
					ctx, cancel := ctxT(60 * time.Second)
					_, err := c.CreateGame(ctx, &pb.CreateGameRequest{GameId: fmt.Sprintf("g%d", i), RequestId: fmt.Sprintf("c%d", i),
						Game: &pb.Game{WhitePlayer: "W", BlackPlayer: "B", Labels: map[string]string{"round": fmt.Sprint(i % 100)}}})
					for ply := 0; err == nil && ply < *plies; ply++ {
						_, err = c.SubmitAction(ctx, &pb.SubmitActionRequest{Name: fmt.Sprintf("games/g%d", i), Action: moveAction(seatOf(ply), fmt.Sprint("m", ply), moves[ply])})
						if err == nil {
							events.Add(1)
						}
					}
					if err != nil {
						fails.Add(1)
					}
					made.Add(1)
					cancel()
				}
			}()
		}
		wg.Wait()
		d := time.Since(t0)
		fmt.Printf("   %.0f events/s, %d failed\n", float64(events.Load()-e0)/d.Seconds(), fails.Load())
		report("running")
	}
	for _, how := range []string{"kill -9", "SIGTERM"} {
		t := time.Now()
		if how == "kill -9" {
			s.Kill()
		} else {
			fmt.Println("   stop:", s.Stop(), time.Since(t))
		}
		s = Start(*port, store, nil, nil, "--log", "warn")
		d, err := s.Ready(60 * time.Second)
		rss, _ := s.RSS()
		fmt.Printf("   start after %s: %v %v, RSS %d MiB\n", how, d, err, rss)
	}
	report("after the restart")
	fmt.Println("   stop:", s.Stop())
}

// plycost plays one long game and tells the CPU of the server for a move at plies far apart.
func plycost(args []string) {
	f := flag.NewFlagSet("plycost", flag.ExitOnError)
	port := f.Int("port", 51251, "")
	plies := f.Int("plies", 5000, "")
	f.Parse(args)
	dir := fmt.Sprintf("%s/ply-%d", base, *port)
	os.RemoveAll(dir)
	s := Start(*port, dir+"/referee.db", nil, nil, "--log", "warn")
	_, err := s.Ready(10 * time.Second)
	must(err)
	c := dial(s.Addr())
	ctx, cancel := ctxT(9 * time.Minute)
	defer cancel()
	for _, kind := range []string{"ics knights back and forth", "fide_standard plan"} {
		id := fmt.Sprintf("p%d", len(kind))
		profile, n := "ics", *plies
		mv := []string{}
		if kind[0] == 'f' {
			profile, n = "fide_standard", 2500
			mv = plan(1, n)
		} else {
			for len(mv) < n+10 {
				mv = append(mv, "g1f3", "g8f6", "f3g1", "f6g8")
			}
		}
		_, err = games(c).CreateGame(ctx, &pb.CreateGameRequest{GameId: id, RequestId: id, Game: &pb.Game{RuleProfile: &pb.RuleProfile{Name: profile}}})
		must(err)
		marks := map[int]bool{10: true, 100: true, 400: true, 1000: true, 2000: true, 4900: true, 2400: true}
		ply := 0
		var c0 time.Duration
		var t0 time.Time
		r0, _ := s.RSS()
		for ; ply < n; ply++ {
			if marks[ply] {
				c0, t0 = s.CPU(), time.Now()
			}
			_, err := games(c).SubmitAction(ctx, &pb.SubmitActionRequest{Name: "games/" + id, Action: moveAction(seatOf(ply), fmt.Sprint("m", ply), mv[ply])})
			if err != nil {
				fmt.Println(ply, err)
				break
			}
			k := 90
			if marks[ply-k+1] && ply >= k {
				fmt.Printf("%s: plies %d-%d: %v CPU a move, %v wall\n", kind, ply-k+1, ply, (s.CPU()-c0)/time.Duration(k), time.Since(t0)/time.Duration(k))
			}
		}
		r1, _ := s.RSS()
		fmt.Printf("%s: %d plies, RSS %d -> %d MiB\n", kind, ply, r0, r1)
		get := func(label string) {
			c0 := s.CPU()
			fmt.Printf("%s: GetGame %s: %s", kind, label, timeIt(40, func(int) error { _, err := games(c).GetGame(ctx, &pb.GetGameRequest{Name: "games/" + id}); return err }))
			fmt.Printf(" CPU %v\n", (s.CPU()-c0)/40)
		}
		get("warm")
		s.Kill()
		s = Start(*port, dir+"/referee.db", nil, nil, "--log", "warn")
		s.Ready(10 * time.Second)
		c.Close()
		c = dial(s.Addr())
		rules(c).ValidateMove(ctx, &pb.ValidateMoveRequest{Move: "e4"})
		c1, t1 := s.CPU(), time.Now()
		games(c).GetGame(ctx, &pb.GetGameRequest{Name: "games/" + id})
		fmt.Printf("%s: GetGame cold: %v, CPU %v\n", kind, time.Since(t1), s.CPU()-c1)
		st, err := games(c).WatchGame(ctx, &pb.WatchGameRequest{Name: "games/" + id})
		must(err)
		st.Recv()
	}
	s.Stop()
}
