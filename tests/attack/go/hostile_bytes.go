// Attacks by messages, streams and questions in great number.
package main

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	pb "referee/v1"

	"golang.org/x/net/http2"
	"google.golang.org/grpc"
)

func attackWatchstorm(s *Server, say sayer) {
	n := size(5000, 4300)
	makeGames(s.Addr(), "ws", n)
	watch := func(k int) (cancel func(), conns []*grpc.ClientConn) {
		ctx, cn := context.WithCancel(context.Background())
		for i := 0; i < 6; i++ {
			conns = append(conns, dial(s.Addr()))
		}
		for i := 0; i < k; i++ {
			st, err := games(conns[i%6]).WatchGame(ctx, &pb.WatchGameRequest{Name: fmt.Sprintf("games/ws%d", i)})
			if err != nil {
				fmt.Println(err)
				continue
			}
			go func() {
				for {
					if _, err := st.Recv(); err != nil {
						return
					}
				}
			}()
		}
		return func() {
			cn()
			for _, c := range conns {
				c.Close()
			}
		}, conns
	}
	for _, k := range size([]int{4000, 4500, 5000}, []int{4300}) {
		cancel, _ := watch(k)
		time.Sleep(4 * time.Second)
		c0 := s.CPU()
		p := StartProbe(s.Addr(), fmt.Sprintf("probe-w%d", k), 50*time.Millisecond)
		time.Sleep(5 * time.Second)
		c1 := s.CPU()
		p.Stop(fmt.Sprintf("watch %d", k))
		rss, peak := s.RSS()
		load := float64(c1-c0) / 5e7
		say("%d idle watched games: server CPU %.0f%% of one core, RSS %d peak %d", k, load, rss, peak)
		// What they cost is some percent; the probe beside them costs the rest, in a debug build on a
		// loaded machine up to 50. Watchers that wake each other take a whole core and more.
		need(load < 85, "watchstorm: %d idle watched games cost %.0f%% of a core", k, load)
		cancel()
		time.Sleep(2 * time.Second)
	}
}

// Messages of 4 MiB less one byte that never end.
func attackPartial(s *Server, say sayer) {
	p := StartProbe(s.Addr(), "probe-part", 50*time.Millisecond)
	r0, _ := s.RSS()
	const conns, streams = 2, 200
	rs, sent := unfinished(s.Addr(), conns, streams)
	r1, pk := s.RSS()
	say("%d connections x %d streams with unfinished 4 MiB messages: sent %d MiB, RSS %d -> %d MiB (peak %d)", conns, streams, sent>>20, r0, r1, pk)
	time.Sleep(size(35*time.Second, 5*time.Second))
	r2, _ := s.RSS()
	say("later: RSS %d MiB", r2)
	p.Stop("unfinished messages")
	for _, r := range rs {
		r.Close()
	}
	time.Sleep(2 * time.Second)
	r3, _ := s.RSS()
	say("after closing: RSS %d MiB", r3)
}

func attackVerifyidle(s *Server, say sayer) {
	r, err := rawDial(s.Addr())
	must(err)
	r.fr.WriteSettingsAck()
	n := map[string]int{}
	var mu sync.Mutex
	go func() {
		for {
			f, err := r.fr.ReadFrame()
			if err != nil {
				return
			}
			mu.Lock()
			n[f.Header().Type.String()]++
			mu.Unlock()
			if p, ok := f.(*http2.PingFrame); ok && !p.IsAck() {
				r.fr.WritePing(true, p.Data)
			}
		}
	}()
	for i := 0; i < 64; i++ {
		r.headers(M+"RulesService/VerifyGames", false)
	}
	time.Sleep(500 * time.Millisecond)
	c := dial(s.Addr())
	defer c.Close()
	try := func() string {
		ctx, cancel := ctxT(5 * time.Second)
		defer cancel()
		st, err := rules(c).VerifyGames(ctx)
		if err != nil {
			return codeOf(err)
		}
		st.Send(&pb.VerifyGamesRequest{Kind: &pb.VerifyGamesRequest_Pgn{Pgn: []byte("1. e4 e5 *\n")}})
		st.CloseSend()
		_, err = st.Recv()
		return codeOf(err)
	}
	first := try()
	say("64 VerifyGames that say nothing: an honest VerifyGames gets %s", first)
	need(first == "OK", "verifyidle: beside those that say nothing an honest VerifyGames gets %s", first)
	time.Sleep(size(40*time.Second, 12*time.Second))
	later := try()
	mu.Lock()
	say("later: %s (frames %v)", later, n)
	mu.Unlock()
	mu.Lock()
	ended := n["RST_STREAM"]
	mu.Unlock()
	need(later == "OK", "verifyidle: an honest VerifyGames gets %s", later)
	need(ended == 64, "verifyidle: of 64 that say nothing %d were ended after 12 s", ended)
	r.Close()
	time.Sleep(time.Second)
	say("after the attacker closed: %s", try())
}

// Readers with a window of 0 on streams with much to say.
func attackUnread(s *Server, say sayer) {
	c := dial(s.Addr())
	defer c.Close()
	t := time.Now()
	makeUnread(c, "unread", size(2000, 1000))
	say("ImportPgn of a long game: %v", time.Since(t))
	r0, _ := s.RSS()
	p := StartProbe(s.Addr(), "probe-unread", 50*time.Millisecond)
	rs, n, mu := unread(s.Addr(), "games/unread")
	time.Sleep(5 * time.Second)
	r1, pk := s.RSS()
	say("4 x 250 WatchGame and 4 x 250 ExportGame of 2,000 events, window 0: RSS %d -> %d peak %d", r0, r1, pk)
	time.Sleep(size(33*time.Second, 5*time.Second))
	r2, _ := s.RSS()
	mu.Lock()
	say("38 s later: RSS %d, frames %v", r2, n)
	mu.Unlock()
	time.Sleep(size(35*time.Second, 0*time.Second))
	r2, _ = s.RSS()
	mu.Lock()
	say("73 s later: RSS %d, frames %v", r2, n)
	mu.Unlock()
	p.Stop("window 0")
	for _, r := range rs {
		r.Close()
	}
	time.Sleep(2 * time.Second)
	r3, _ := s.RSS()
	say("after closing: RSS %d", r3)
}

func attackVerifybig(s *Server, say sayer) {
	c := dial(s.Addr())
	defer c.Close()
	bodies := map[string]func() []byte{
		"one game without end, 100 MB": func() []byte { return []byte(strings.Repeat("1. Nf3 Nf6 2. Ng1 Ng8 ", 48000)) },
		"open comment, 100 MB":         func() []byte { return bytes.Repeat([]byte("{ "), 500000) },
		"nested variations, 100 MB":    func() []byte { return bytes.Repeat([]byte("( "), 500000) },
		"tags, 100 MB":                 func() []byte { return bytes.Repeat([]byte("[A \"b\"]\n"), 130000) },
		"long token, 100 MB":           func() []byte { return bytes.Repeat([]byte("x"), 1000000) },
		"many tiny games, 100 MB":      func() []byte { return bytes.Repeat([]byte("1. e4 *\n\n"), 110000) },
		"escapes in a tag, 100 MB":     func() []byte { return append([]byte("[A \""), bytes.Repeat([]byte("\\\\"), 490000)...) },
	}
	for name, body := range bodies {
		p := StartProbe(s.Addr(), "probe-vb", 50*time.Millisecond)
		b := body()
		r0, _ := s.RSS()
		ctx, cancel := ctxT(60 * time.Second)
		st, err := rules(c).VerifyGames(ctx)
		must(err)
		t := time.Now()
		got := 0
		done := make(chan string)
		go func() {
			for {
				_, err := st.Recv()
				if err != nil {
					done <- codeOf(err) + " " + fmt.Sprintf("%.100s", err)
					return
				}
				got++
			}
		}()
		sent := 0
		for i := 0; i < 100; i++ {
			if st.Send(&pb.VerifyGamesRequest{Kind: &pb.VerifyGamesRequest_Pgn{Pgn: b}}) != nil {
				break
			}
			sent++
		}
		st.CloseSend()
		res := <-done
		cancel()
		r1, pk := s.RSS()
		say("%-32s %d pieces of %d KB in %v: %d verdicts, %s; RSS %d -> %d peak %d", name, sent, len(b)/1000, time.Since(t).Round(time.Millisecond), got, res, r0, r1, pk)
		p.Stop(name)
	}
}

func attackListpages(s *Server, say sayer) {
	makeGames(s.Addr(), "lp", 3000)
	p := StartProbe(s.Addr(), "probe-lp", 20*time.Millisecond)
	c := dial(s.Addr())
	defer c.Close()
	var n atomic.Int64
	var wg sync.WaitGroup
	ctx, cancel := ctxT(12 * time.Second)
	defer cancel()
	codes := map[string]int{}
	var mu sync.Mutex
	for i := 0; i < 200; i++ {
		wg.Add(1)
		go func() {
			defer wg.Done()
			tok := ""
			for ctx.Err() == nil {
				r, err := games(c).ListGames(ctx, &pb.ListGamesRequest{PageSize: 1000, PageToken: tok})
				if err != nil {
					mu.Lock()
					codes[codeOf(err)]++
					mu.Unlock()
					continue
				}
				tok = r.NextPageToken
				n.Add(1)
			}
		}()
	}
	wg.Wait()
	rss, peak := s.RSS()
	say("200 readers of ListGames pages of 1,000 for 12 s: %d pages, %v, RSS %d peak %d", n.Load(), codes, rss, peak)
	p.Stop("ListGames flood")
}

// GetGame of games that are not there pushes real games out of memory.
func attackNotfound(s *Server, say sayer) {
	c := dial(s.Addr())
	defer c.Close()
	ctx, cancel := ctxT(40 * time.Second)
	defer cancel()
	games(c).CreateGame(ctx, &pb.CreateGameRequest{GameId: "long", RequestId: "long", Game: &pb.Game{RuleProfile: &pb.RuleProfile{Name: "ics"}}})
	seq := []string{"g1f3", "g8f6", "f3g1", "f6g8"}
	for i := 0; i < 2000; i++ {
		_, err := games(c).SubmitAction(ctx, &pb.SubmitActionRequest{Name: "games/long", Action: moveAction(seatOf(i), fmt.Sprintf("m%d", i), seq[i%4])})
		if err != nil {
			say("%v", err)
			return
		}
	}
	get := func() time.Duration {
		t := time.Now()
		games(c).GetGame(ctx, &pb.GetGameRequest{Name: "games/long"})
		return time.Since(t)
	}
	get()
	warm := get()
	c0 := s.CPU()
	sem := make(chan int, 64)
	var wg sync.WaitGroup
	t := time.Now()
	for i := 0; i < 4200; i++ {
		sem <- 1
		wg.Add(1)
		go func() {
			games(c).GetGame(ctx, &pb.GetGameRequest{Name: fmt.Sprintf("games/no-%d", i)})
			<-sem
			wg.Done()
		}()
	}
	wg.Wait()
	d, cpu := time.Since(t), s.CPU()-c0
	cold := get()
	say("GetGame of a game of 2,000 plies: warm %v, after 4,200 GetGame of games that are not there (%v, CPU %v): %v", warm, d, cpu, cold)
}

func attackRefusals(s *Server, say sayer) {
	c := dial(s.Addr())
	defer c.Close()
	ctx, cancel := ctxT(60 * time.Second)
	defer cancel()
	games(c).CreateGame(ctx, &pb.CreateGameRequest{GameId: "ref", RequestId: "ref", Game: &pb.Game{}})
	codes := map[string]int{}
	for i := 0; i < 4200; i++ {
		_, err := games(c).SubmitAction(ctx, &pb.SubmitActionRequest{Name: "games/ref", Action: moveAction(pb.Seat_SEAT_BLACK, fmt.Sprintf("x%d", i), "e7e5")})
		codes[codeOf(err)]++
	}
	_, err := games(c).SubmitAction(ctx, &pb.SubmitActionRequest{Name: "games/ref", Action: moveAction(pb.Seat_SEAT_WHITE, "ok", "e2e4")})
	say("4,200 refused moves: %v; then a legal move: %s", codes, codeOf(err))
	_, err = games(c).SubmitAction(ctx, &pb.SubmitActionRequest{Name: "games/ref", Action: moveAction(pb.Seat_SEAT_WHITE, "ok2", "e2e4")})
	say("then one more refusable: %v", err)
	need(codeOf(err) != "ResourceExhausted", "refusals: one seat uses up what the other has: %v", err)
}
