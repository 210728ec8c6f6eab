// Hostile clients, each beside a well-behaved one.
package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"flag"
	"fmt"
	"io"
	"math/rand"
	"net"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	pb "referee/v1"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"
)

func init() { commands["hostile"] = hostile }

type attack struct {
	name string
	run  func(s *Server, say func(string, ...any))
	pre  []string
}

// raw is an HTTP/2 connection without manners.
type raw struct {
	net.Conn
	fr  *http2.Framer
	enc *hpack.Encoder
	buf bytes.Buffer
	id  uint32
}

func rawDial(addr string, settings ...http2.Setting) (*raw, error) {
	c, err := net.DialTimeout("tcp", addr, 5*time.Second)
	if err != nil {
		return nil, err
	}
	r := &raw{Conn: c, fr: http2.NewFramer(c, c), id: 1}
	r.fr.AllowIllegalWrites = true
	r.enc = hpack.NewEncoder(&r.buf)
	io.WriteString(c, http2.ClientPreface)
	r.fr.WriteSettings(settings...)
	return r, nil
}

func (r *raw) headers(method string, end bool, more ...[2]string) uint32 {
	r.buf.Reset()
	for _, h := range append([][2]string{{":method", "POST"}, {":scheme", "http"}, {":path", method}, {":authority", "x"},
		{"te", "trailers"}, {"content-type", "application/grpc"}}, more...) {
		r.enc.WriteField(hpack.HeaderField{Name: h[0], Value: h[1]})
	}
	id := r.id
	r.id += 2
	r.fr.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: r.buf.Bytes(), EndHeaders: true, EndStream: end})
	return id
}

func grpcFrame(m proto.Message) []byte {
	b, _ := proto.Marshal(m)
	return frameBytes(0, b)
}
func frameBytes(flag byte, b []byte) []byte {
	out := make([]byte, 5+len(b))
	out[0] = flag
	binary.BigEndian.PutUint32(out[1:5], uint32(len(b)))
	copy(out[5:], b)
	return out
}

// drain reads frames until the connection ends, answers settings, and counts kinds.
func (r *raw) drain(n map[string]int, mu *sync.Mutex, goaway *string) {
	for {
		f, err := r.fr.ReadFrame()
		if err != nil {
			return
		}
		mu.Lock()
		n[f.Header().Type.String()]++
		if g, ok := f.(*http2.GoAwayFrame); ok && goaway != nil {
			*goaway = fmt.Sprintf("%v %s", g.ErrCode, g.DebugData())
		}
		mu.Unlock()
	}
}

var mu0 sync.Mutex

const M = "/referee.v1."

func makeGames(addr, prefix string, n int) {
	c := dial(addr)
	defer c.Close()
	sem := make(chan int, 64)
	var wg sync.WaitGroup
	for i := 0; i < n; i++ {
		wg.Add(1)
		sem <- 1
		go func() {
			defer func() { <-sem; wg.Done() }()
			ctx, cancel := ctxT(20 * time.Second)
			defer cancel()
			id := fmt.Sprintf("%s%d", prefix, i)
			_, err := games(c).CreateGame(ctx, &pb.CreateGameRequest{GameId: id, RequestId: "c-" + id, Game: &pb.Game{}})
			if err != nil && codeOf(err) != "AlreadyExists" {
				fmt.Println("create", err)
			}
		}()
	}
	wg.Wait()
}

// unfinished sends messages of 4 MiB less one byte that never end, as far as the server takes them.
func unfinished(addr string, conns, streams int) (rs []*raw, bytes int64) {
	chunk := make([]byte, 16384)
	const whole = 4<<20 - 1
	var sent atomic.Int64
	var wg sync.WaitGroup
	for k := 0; k < conns; k++ {
		r, err := rawDial(addr)
		must(err)
		rs = append(rs, r)
		var mu sync.Mutex
		win := map[uint32]int64{}
		connWin := int64(65535)
		initial := int64(65535)
		cond := sync.NewCond(&mu)
		dead := false
		go func() {
			for {
				f, err := r.fr.ReadFrame()
				mu.Lock()
				if err != nil {
					dead = true
					cond.Broadcast()
					mu.Unlock()
					return
				}
				switch f := f.(type) {
				case *http2.SettingsFrame:
					if !f.IsAck() {
						if v, ok := f.Value(http2.SettingInitialWindowSize); ok {
							initial = int64(v)
						}
						r.fr.WriteSettingsAck()
					}
				case *http2.WindowUpdateFrame:
					if f.StreamID == 0 {
						connWin += int64(f.Increment)
					} else {
						win[f.StreamID] += int64(f.Increment)
					}
				}
				cond.Broadcast()
				mu.Unlock()
			}
		}()
		time.Sleep(100 * time.Millisecond)
		wg.Add(1)
		go func() {
			defer wg.Done()
			for i := 0; i < streams; i++ {
				id := r.headers(M+"GameService/ImportPgn", false)
				mu.Lock()
				win[id] += initial
				mu.Unlock()
				head := []byte{0, 0, 0x3f, 0xff, 0xff}
				r.fr.WriteData(id, false, head)
				left := whole - 64
				used := int64(5)
				for left > 0 {
					mu.Lock()
					for !dead && (win[id] < used+16384 || connWin < 20000) {
						t := time.AfterFunc(3*time.Second, func() { mu.Lock(); dead = true; cond.Broadcast(); mu.Unlock() })
						cond.Wait()
						t.Stop()
					}
					if dead {
						mu.Unlock()
						return
					}
					n := min(left, 16384)
					connWin -= int64(n)
					used += int64(n)
					mu.Unlock()
					if r.fr.WriteData(id, false, chunk[:n]) != nil {
						return
					}
					left -= n
					sent.Add(int64(n))
				}
			}
		}()
	}
	wg.Wait()
	return rs, sent.Load()
}

// makeUnread imports a game with much to say.
func makeUnread(c *grpc.ClientConn, id string, plies int) {
	ctx, cancel := ctxT(60 * time.Second)
	defer cancel()
	conv, err := rules(c).ConvertNotation(ctx, &pb.ConvertNotationRequest{Position: &pb.Position{Moves: plan(5, plies)}, Target: pb.Notation_NOTATION_SAN})
	must(err)
	pgn := "[Event \"x\"]\n\n"
	for i, m := range conv.Moves {
		if i%2 == 0 {
			pgn += fmt.Sprintf("%d. ", i/2+1)
		}
		pgn += m + " "
	}
	_, err = games(c).ImportPgn(ctx, &pb.ImportPgnRequest{Pgn: pgn + "*", GameId: id, RequestId: id})
	must(err)
}

// unread opens 1,000 streams that watch a game and 1,000 that export it, with a window of 0.
func unread(addr, name string) (rs []*raw, n map[string]int, mu *sync.Mutex) {
	n, mu = map[string]int{}, &sync.Mutex{}
	for k := 0; k < 4; k++ {
		r, err := rawDial(addr, http2.Setting{ID: http2.SettingInitialWindowSize, Val: 0})
		must(err)
		rs = append(rs, r)
		go func() {
			for {
				f, err := r.fr.ReadFrame()
				if err != nil {
					return
				}
				mu.Lock()
				n[f.Header().Type.String()]++
				if g, ok := f.(*http2.GoAwayFrame); ok {
					n[fmt.Sprintf("%v %s", g.ErrCode, g.DebugData())]++
				}
				mu.Unlock()
				if p, ok := f.(*http2.PingFrame); ok && !p.IsAck() {
					r.fr.WritePing(true, p.Data)
				}
				if p, ok := f.(*http2.SettingsFrame); ok && !p.IsAck() {
					r.fr.WriteSettingsAck()
				}
			}
		}()
		zero := int64(0)
		for i := 0; i < 250; i++ {
			id := r.headers(M+"GameService/WatchGame", false)
			r.fr.WriteData(id, true, grpcFrame(&pb.WatchGameRequest{Name: name, AfterSequence: &zero}))
			id = r.headers(M+"GameService/ExportGame", false)
			r.fr.WriteData(id, true, grpcFrame(&pb.ExportGameRequest{Name: name}))
		}
	}
	return rs, n, mu
}

// longHistory returns moves of knights that go out and home, legal under `ics`.
func longHistory(plies int) (moves []string) {
	for len(moves) < plies {
		moves = append(moves, "g1f3", "g8f6", "f3g1", "f6g8")
	}
	return moves[:plies]
}

// longText returns a game of 20,000 plies, legal under `ics`.
func longText() string {
	var sb strings.Builder
	for i := 0; i < 5000; i++ {
		fmt.Fprintf(&sb, "%d. Nf3 Nf6 %d. Ng1 Ng8 ", 2*i+1, 2*i+2)
	}
	return sb.String() + "*"
}

func attacks() []attack {
	return []attack{
		{name: "nofile", pre: []string{"prlimit", "--nofile=256:256"}, run: func(s *Server, say func(string, ...any)) {
			honest := dial(s.Addr())
			defer honest.Close()
			hx, hcancel := ctxT(60 * time.Second)
			defer hcancel()
			games(honest).CreateGame(hx, &pb.CreateGameRequest{GameId: "h", RequestId: "h", Game: &pb.Game{}})
			var cs []net.Conn
			for i := 0; i < 400; i++ {
				c, err := net.DialTimeout("tcp", s.Addr(), 300*time.Millisecond)
				if err != nil {
					break
				}
				cs = append(cs, c)
			}
			time.Sleep(time.Second)
			c0 := s.CPU()
			time.Sleep(2 * time.Second)
			load := float64(s.CPU()-c0) / 2e7
			say("CPU at the limit: %.0f%% of a core", load)
			need(load < 30, "nofile: accepting spins where descriptors have run out: %.0f%% of a core", load)
			codes := map[string]int{}
			var wg sync.WaitGroup
			for i := 0; i < 40; i++ {
				wg.Add(1)
				go func() {
					defer wg.Done()
					cc, cn := context.WithTimeout(hx, 5*time.Second)
					defer cn()
					_, err := games(honest).GetGame(cc, &pb.GetGameRequest{Name: fmt.Sprintf("games/nope%d", i)})
					codes2 := codeOf(err)
					if codes2 != "NotFound" {
						codes2 = fmt.Sprintf("%.150v", err)
					}
					need(codes2 == "NotFound", "nofile: a read of an honest client: %s", codes2)
					_, err = games(honest).SubmitAction(cc, &pb.SubmitActionRequest{Name: "games/h", Action: moveAction(pb.Seat_SEAT_WHITE, fmt.Sprint("m", i), "e2e4")})
					mu0.Lock()
					codes["read "+codes2]++
					codes[fmt.Sprintf("write %s %.90v", codeOf(err), err)]++
					mu0.Unlock()
				}()
			}
			wg.Wait()
			for k, n := range codes {
				say("an honest client that was connected before: %d x %s", n, k)
			}
			st, ended := s.Wait(time.Millisecond)
			say("opened %d idle connections with nofile=256: ended=%v %s fds=%d", len(cs), ended, st, s.FDs())
			for _, c := range cs {
				c.Close()
			}
			time.Sleep(time.Second)
			if s.Alive() {
				c := dial(s.Addr())
				ctx, cancel := ctxT(5 * time.Second)
				_, err := rules(c).ValidateMove(ctx, &pb.ValidateMoveRequest{Move: "e2e4"})
				cancel()
				c.Close()
				say("after they closed: %s", codeOf(err))
				need(err == nil, "nofile: after the idle connections closed: %v", err)
			}
		}},
		{name: "idle", run: func(s *Server, say func(string, ...any)) {
			r0, _ := s.RSS()
			var cs []net.Conn
			for i := 0; i < 3000; i++ {
				c, err := net.DialTimeout("tcp", s.Addr(), time.Second)
				if err != nil {
					say("dial: %v", err)
					break
				}
				cs = append(cs, c)
			}
			time.Sleep(2 * time.Second)
			r1, _ := s.RSS()
			say("%d silent TCP connections: RSS %d -> %d MiB, alive=%v", len(cs), r0, r1, s.Alive())
			for i, c := range cs { // half of a preface, then a byte now and then
				if i < 1500 {
					io.WriteString(c, http2.ClientPreface[:10])
				} else {
					io.WriteString(c, http2.ClientPreface)
					http2.NewFramer(c, c).WriteSettings()
				}
			}
			time.Sleep(8 * time.Second)
			r2, _ := s.RSS()
			open := 0
			for _, c := range cs {
				c.SetReadDeadline(time.Now().Add(time.Millisecond))
				b := make([]byte, 4096)
				_, err := c.Read(b)
				if err == nil || os.IsTimeout(err) {
					open++
				}
			}
			say("half prefaces and settings only: RSS %d MiB, still open after 8 s: %d", r2, open)
			for _, c := range cs {
				c.Close()
			}
		}},
		{name: "slowloris60", run: func(s *Server, say func(string, ...any)) {
			// which half-open connections are ever cut?
			kinds := []string{"silent", "half preface", "preface+settings, no ack", "half HEADERS (no END_HEADERS)", "open PlayGame, no join", "open VerifyGames, no message", "unary, half a message"}
			var rs []*raw
			var cs []net.Conn
			for i := range kinds {
				if i < 2 {
					c, err := net.Dial("tcp", s.Addr())
					must(err)
					if i == 1 {
						io.WriteString(c, http2.ClientPreface[:10])
					}
					cs = append(cs, c)
					rs = append(rs, nil)
					continue
				}
				r, err := rawDial(s.Addr())
				must(err)
				cs = append(cs, r.Conn)
				rs = append(rs, r)
				if i >= 3 {
					r.fr.WriteSettingsAck()
				}
				switch i {
				case 3:
					r.buf.Reset()
					r.enc.WriteField(hpack.HeaderField{Name: ":method", Value: "POST"})
					r.fr.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: r.buf.Bytes()})
				case 4:
					r.headers(M+"GameService/PlayGame", false)
				case 5:
					r.headers(M+"RulesService/VerifyGames", false)
				case 6:
					id := r.headers(M+"RulesService/ValidateMove", false)
					r.fr.WriteData(id, false, []byte{0, 0, 0, 1, 0, 1, 2, 3})
				}
			}
			var wg sync.WaitGroup
			begin := time.Now()
			for i := range kinds {
				wg.Add(1)
				go func() {
					defer wg.Done()
					cs[i].SetReadDeadline(begin.Add(75 * time.Second))
					what := ""
					if rs[i] == nil {
						b := make([]byte, 4096)
						for {
							n, err := cs[i].Read(b)
							if err != nil {
								what = fmt.Sprintf("read %v", err)
								break
							}
							what = fmt.Sprint(n)
						}
					} else {
						for {
							f, err := rs[i].fr.ReadFrame()
							if err != nil {
								what += fmt.Sprintf(" | %v", err)
								break
							}
							if p, ok := f.(*http2.PingFrame); ok && i >= 3 {
								if !p.IsAck() {
									rs[i].fr.WritePing(true, p.Data)
								}
								what += fmt.Sprintf(" ping@%ds", int(time.Since(begin).Seconds()))
							}
							if h, ok := f.(*http2.HeadersFrame); ok {
								what += fmt.Sprintf(" HEADERS@%ds end=%v", int(time.Since(begin).Seconds()), h.StreamEnded())
							}
							if h, ok := f.(*http2.GoAwayFrame); ok {
								what += fmt.Sprintf(" GOAWAY@%ds %v", int(time.Since(begin).Seconds()), h.ErrCode)
							}
						}
					}
					say("%-34s after %4.1f s: %s", kinds[i], time.Since(begin).Seconds(), what)
					need(time.Since(begin) < 74*time.Second, "slowloris60: %s is never cut: %s", kinds[i], what)
				}()
			}
			wg.Wait()
		}},
		{name: "watchstorm", run: func(s *Server, say func(string, ...any)) {
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
				need(load < 50, "watchstorm: %d idle watched games cost %.0f%% of a core", k, load)
				cancel()
				time.Sleep(2 * time.Second)
			}
		}},
		{name: "cpu", run: func(s *Server, say func(string, ...any)) {
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
		}},
		{name: "canmate", run: func(s *Server, say func(string, ...any)) {
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
		}},
		{name: "partial", run: func(s *Server, say func(string, ...any)) {
			// Messages of 4 MiB less one byte that never end.
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
		}},
		{name: "verifyidle", run: func(s *Server, say func(string, ...any)) {
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
		}},
		{name: "h2", run: func(s *Server, say func(string, ...any)) {
			floods := []struct {
				name string
				n    int
				f    func(r *raw, i int) error
			}{
				{"rapid reset", 20000, func(r *raw, i int) error {
					id := r.headers(M+"RulesService/ValidateMove", false)
					return r.fr.WriteRSTStream(id, http2.ErrCodeCancel)
				}},
				{"rapid reset of WatchGame", 20000, func(r *raw, i int) error {
					id := r.headers(M+"GameService/WatchGame", false)
					r.fr.WriteData(id, true, grpcFrame(&pb.WatchGameRequest{Name: "games/probe-h2"}))
					return r.fr.WriteRSTStream(id, http2.ErrCodeCancel)
				}},
				{"made you reset (window overflow)", 20000, func(r *raw, i int) error {
					id := r.headers(M+"RulesService/ValidateMove", false)
					return r.fr.WriteWindowUpdate(id, 1<<31-1)
				}},
				{"CONTINUATION", 20000, func(r *raw, i int) error {
					if i == 0 {
						r.buf.Reset()
						r.enc.WriteField(hpack.HeaderField{Name: ":method", Value: "POST"})
						return r.fr.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: r.buf.Bytes()})
					}
					r.buf.Reset()
					r.enc.WriteField(hpack.HeaderField{Name: fmt.Sprintf("x-%d", i), Value: strings.Repeat("a", 200), Sensitive: true})
					return r.fr.WriteContinuation(1, false, r.buf.Bytes())
				}},
				{"empty CONTINUATION", 100000, func(r *raw, i int) error {
					if i == 0 {
						return r.fr.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: nil})
					}
					return r.fr.WriteContinuation(1, false, nil)
				}},
				{"SETTINGS", 50000, func(r *raw, i int) error {
					return r.fr.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: uint32(65535 + i)})
				}},
				{"PING", 100000, func(r *raw, i int) error { return r.fr.WritePing(false, [8]byte{byte(i)}) }},
				{"PRIORITY", 50000, func(r *raw, i int) error { return r.fr.WritePriority(uint32(2*i+1), http2.PriorityParam{Weight: 3}) }},
				{"WINDOW_UPDATE", 50000, func(r *raw, i int) error { return r.fr.WriteWindowUpdate(0, 1) }},
				{"empty DATA", 50000, func(r *raw, i int) error {
					if i == 0 {
						r.headers(M+"RulesService/ValidateMove", false)
					}
					return r.fr.WriteData(1, false, nil)
				}},
				{"huge header list", 200, func(r *raw, i int) error {
					r.headers(M+"RulesService/ValidateMove", true, [2]string{"x-big", strings.Repeat("h", 15000)})
					return nil
				}},
				{"hpack bomb", 200, func(r *raw, i int) error {
					more := [][2]string{}
					for k := 0; k < 3000; k++ {
						more = append(more, [2]string{"x-bomb", strings.Repeat("b", 3900)})
					}
					r.headers(M+"RulesService/ValidateMove", true, more...)
					return nil
				}},
				{"unknown frames", 50000, func(r *raw, i int) error { return r.fr.WriteRawFrame(0xbb, 0, 0, make([]byte, 100)) }},
				{"garbage", 2000, func(r *raw, i int) error {
					b := make([]byte, 512)
					rand.Read(b)
					_, err := r.Conn.Write(b)
					return err
				}},
			}
			for _, fl := range floods {
				p := StartProbe(s.Addr(), "probe-h2", 20*time.Millisecond)
				r0, _ := s.RSS()
				c0 := s.CPU()
				n := map[string]int{}
				var mu sync.Mutex
				goaway := ""
				sent := 0
				begin := time.Now()
				for k := 0; k < 4; k++ {
					r, err := rawDial(s.Addr())
					if err != nil {
						continue
					}
					go r.drain(n, &mu, &goaway)
					r.SetWriteDeadline(time.Now().Add(3 * time.Second))
					for i := 0; i < fl.n; i++ {
						if fl.f(r, i) != nil {
							break
						}
						sent++
					}
					r.Close()
				}
				d := time.Since(begin)
				r1, pk := s.RSS()
				mu.Lock()
				say("%-34s sent %6d of %d in %v: RSS %d -> %d peak %d MiB, CPU %v, GOAWAY %q frames %v", fl.name, sent, 4*fl.n, d.Round(time.Millisecond), r0, r1, pk, s.CPU()-c0, goaway, n)
				mu.Unlock()
				p.Stop(fl.name)
			}
		}},
		{name: "unread", run: func(s *Server, say func(string, ...any)) {
			// Readers with a window of 0 on streams with much to say.
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
		}},
		{name: "nevjoin", run: func(s *Server, say func(string, ...any)) {
			p := StartProbe(s.Addr(), "probe-nj", 50*time.Millisecond)
			r0, _ := s.RSS()
			n := map[string]int{}
			var mu sync.Mutex
			var rs []*raw
			for k := 0; k < 8; k++ {
				r, err := rawDial(s.Addr())
				must(err)
				r.fr.WriteSettingsAck()
				rs = append(rs, r)
				go r.drain(n, &mu, nil)
				for i := 0; i < 990; i++ {
					r.headers(M+"GameService/PlayGame", false)
				}
			}
			time.Sleep(3 * time.Second)
			r1, _ := s.RSS()
			say("8 x 990 PlayGame without a join: RSS %d -> %d", r0, r1)
			time.Sleep(30 * time.Second)
			r2, _ := s.RSS()
			mu.Lock()
			say("33 s later: RSS %d, frames %v", r2, n)
			mu.Unlock()
			p.Stop("never join")
			for _, r := range rs {
				r.Close()
			}
		}},
		{name: "limits", run: func(s *Server, say func(string, ...any)) {
			// Over limits, nesting, compression.
			c := dial(s.Addr())
			defer c.Close()
			ctx, cancel := ctxT(60 * time.Second)
			defer cancel()
			_, err := rules(c).ValidateMove(ctx, &pb.ValidateMoveRequest{Move: strings.Repeat("a", 5<<20)})
			say("5 MiB: %v", err)
			_, err = rules(c).ValidateMove(ctx, &pb.ValidateMoveRequest{Move: strings.Repeat("e", 4<<20-16)})
			say("4 MiB move: %.150v", err)
			raw := func(method string, body []byte, more ...[2]string) string {
				r, err := rawDial(s.Addr())
				must(err)
				defer r.Close()
				r.fr.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
				id := r.headers(method, false, more...)
				for len(body) > 16000 {
					r.fr.WriteData(id, false, body[:16000])
					body = body[16000:]
				}
				r.fr.WriteData(id, true, body)
				r.SetReadDeadline(time.Now().Add(5 * time.Second))
				out := ""
				for {
					f, err := r.fr.ReadFrame()
					if err != nil {
						return out + " | " + err.Error()
					}
					switch f := f.(type) {
					case *http2.MetaHeadersFrame:
						for _, h := range f.Fields {
							if h.Name == "grpc-status" || h.Name == "grpc-message" || h.Name == ":status" {
								out += h.Name + "=" + fmt.Sprintf("%.140s", h.Value) + " "
							}
						}
						if f.StreamEnded() {
							return out
						}
					case *http2.RSTStreamFrame:
						return out + "RST " + f.ErrCode.String()
					case *http2.GoAwayFrame:
						return out + "GOAWAY " + f.ErrCode.String()
					}
				}
			}
			nest := []byte{}
			for i := 0; i < 5000; i++ { // groups, nested
				nest = append(nest, 0x1b)
			}
			say("5,000 nested groups: %s", raw(M+"RulesService/ValidateMove", frameBytes(0, nest)))
			deep := []byte{}
			for i := 0; i < 20000; i++ {
				l := []byte{}
				l = append(l, 0x0a)
				l = binary.AppendUvarint(l, uint64(len(deep)))
				deep = append(l, deep...)
				if len(deep) > 60000 {
					break
				}
			}
			say("nested messages: %s", raw(M+"RulesService/ValidateMove", frameBytes(0, deep)))
			say("compressed flag without encoding: %s", raw(M+"RulesService/ValidateMove", frameBytes(1, []byte{1, 2, 3})))
			say("grpc-encoding gzip: %s", raw(M+"RulesService/ValidateMove", frameBytes(1, gzipBomb(64<<20)), [2]string{"grpc-encoding", "gzip"}))
			say("grpc-encoding zstd: %s", raw(M+"RulesService/ValidateMove", frameBytes(1, []byte{1}), [2]string{"grpc-encoding", "zstd"}))
			say("declared 4 GiB: %s", raw(M+"RulesService/ValidateMove", []byte{0, 0xff, 0xff, 0xff, 0xff, 1, 2}))
			say("flag 7: %s", raw(M+"RulesService/ValidateMove", []byte{7, 0, 0, 0, 0}))
			say("no message: %s", raw(M+"RulesService/ValidateMove", nil))
			say("two messages: %s", raw(M+"RulesService/ListRuleProfiles", append(frameBytes(0, nil), frameBytes(0, nil)...)))
			say("unknown method: %s", raw(M+"RulesService/Nope", frameBytes(0, nil)))
			say("unknown service: %s", raw("/x.y/Z", frameBytes(0, nil)))
			say("path traversal: %s", raw("/../../etc/passwd", frameBytes(0, nil)))
			say("grpc-timeout bad: %s", raw(M+"RulesService/ListRuleProfiles", frameBytes(0, nil), [2]string{"grpc-timeout", "99999999999999999999H"}))
			say("grpc-timeout 0n: %s", raw(M+"RulesService/ListRuleProfiles", frameBytes(0, nil), [2]string{"grpc-timeout", "0n"}))
			say("content-type text: %s", raw(M+"RulesService/ListRuleProfiles", frameBytes(0, nil), [2]string{"content-type", "text/plain"}))
			rss, peak := s.RSS()
			say("RSS %d peak %d", rss, peak)
		}},
		{name: "verifybig", run: func(s *Server, say func(string, ...any)) {
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
		}},
		{name: "import", run: func(s *Server, say func(string, ...any)) {
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
		}},
		{name: "hard", run: func(s *Server, say func(string, ...any)) {
			// A short text or action that asks for much thinking.
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
		}},
		{name: "openings", run: func(s *Server, say func(string, ...any)) {
			makeGames(s.Addr(), "o", 1)
			var rs []*raw
			n := map[string]int{}
			var mu sync.Mutex
			conns := size(51, 20)
			for k := 0; k < conns; k++ {
				r, err := rawDial(s.Addr())
				if err != nil {
					continue // It was turned away.
				}
				r.fr.WriteSettingsAck()
				rs = append(rs, r)
				go r.drain(n, &mu, nil)
				for i := 0; i < 995; i++ {
					r.headers(M+"GameService/PlayGame", false)
				}
			}
			time.Sleep(3 * time.Second)
			rss, peak := s.RSS()
			c := dial(s.Addr())
			defer c.Close()
			ctx, cancel := ctxT(20 * time.Second)
			defer cancel()
			st, err := games(c).WatchGame(ctx, &pb.WatchGameRequest{Name: "games/o0"})
			if err == nil {
				_, err = st.Recv()
			}
			ex, err2 := games(c).ExportGame(ctx, &pb.ExportGameRequest{Name: "games/o0"})
			if err2 == nil {
				_, err2 = ex.Recv()
			}
			say("%d connections x 995 PlayGame without a join: RSS %d peak %d; honest WatchGame: %v; ExportGame: %v", conns, rss, peak, err, err2)
			need(err == nil && err2 == nil, "openings: an honest client's WatchGame: %v; ExportGame: %v", err, err2)
			for _, r := range rs {
				r.Close()
			}
			time.Sleep(2 * time.Second)
			rss, _ = s.RSS()
			say("after closing: RSS %d", rss)
		}},
		{name: "cache", run: func(s *Server, say func(string, ...any)) {
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
		}},
		{name: "together", run: func(s *Server, say func(string, ...any)) {
			// All that takes memory, at once: the solver, games in memory, answers that are not read,
			// messages that do not end, and long texts.
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
		}},
		{name: "freeze", run: func(s *Server, say func(string, ...any)) {
			// Can an anonymous client make the clocks of all games stand still?
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
		}},
		{name: "listpages", run: func(s *Server, say func(string, ...any)) {
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
		}},
		{name: "notfound", run: func(s *Server, say func(string, ...any)) {
			// GetGame of games that are not there pushes real games out of memory.
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
		}},
		{name: "refusals", run: func(s *Server, say func(string, ...any)) {
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
		}},
	}
}

// The attacks of the small run.
var smallHostile = map[string]bool{"nofile": true, "watchstorm": true, "partial": true, "unread": true, "openings": true, "verifyidle": true, "hard": true, "together": true, "freeze": true}

func hostile(args []string) {
	f := flag.NewFlagSet("hostile", flag.ExitOnError)
	port := f.Int("port", 51210, "")
	logLevel := f.String("log", "info", "")
	f.Parse(args)
	want := map[string]bool{}
	for _, a := range f.Args() {
		want[a] = true
	}
	for _, a := range attacks() {
		if len(want) > 0 && !want[a.name] || len(want) == 0 && small && !smallHostile[a.name] {
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
