// A client of HTTP/2 without manners, and what several attacks need.
package main

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"net"
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
