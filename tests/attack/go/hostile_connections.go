// Attacks by connections, frames and openings that come to nothing.
package main

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"math/rand"
	"net"
	"os"
	"strings"
	"sync"
	"time"

	pb "referee/v1"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

func attackNofile(s *Server, say sayer) {
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
}

func attackIdle(s *Server, say sayer) {
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
}

// which half-open connections are ever cut?
func attackSlowloris60(s *Server, say sayer) {
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
}

func attackH2(s *Server, say sayer) {
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
}

func attackNevjoin(s *Server, say sayer) {
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
}

// Over limits, nesting, compression.
func attackLimits(s *Server, say sayer) {
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
}

func attackOpenings(s *Server, say sayer) {
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
}
