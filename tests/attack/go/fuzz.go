// Random and mutated bytes on every method.
package main

import (
	"context"
	"flag"
	"fmt"
	"math/rand"
	"os"
	"sort"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	pb "referee/v1"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/dynamicpb"
)

func init() { commands["fuzz"] = fuzz }

type rawCodec struct{}

func (rawCodec) Marshal(v any) ([]byte, error)   { return v.([]byte), nil }
func (rawCodec) Unmarshal(b []byte, v any) error { *(v.(*[]byte)) = append([]byte{}, b...); return nil }
func (rawCodec) Name() string                    { return "proto" }

var words = []string{"", "e2e4", "e7e8q", "O-O", "0-0-0", "Nf3", "games/f0", "games/f1", "games/", "games/f0\x00", "games/f0\nINFO fake", "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1",
	"8/8/8/8/8/8/8/8 w - - 0 1", "4k3/8/8/8/8/8/8/4K3 w - - 99 4294967295", "KKKKKKKK/8/8/8/8/8/8/kkkkkkkk w - - 0 1", "QQQQQQQQ/QQQQQQQQ/8/4k3/4K3/8/8/8 w - - 0 1", "fide_standard", "ics", "lichess", "5400+30", "40/5400+30:1800+30", "1+0", "*60", "999999999999999", "é", "\U0001F600", strings.Repeat("a", 70), strings.Repeat("(", 300), "1. e4 e5 {[%clk 0:00:01]} (1... c5) 2. Nf3 $1 1-0", "[FEN \"8/8/8/8/8/8/8/8 w - - 0 1\"]\n\n1. e4 *", "%", "a1", "h8", "z9", "\xff\xfe", "-1", "r-1", "r-2"}

var ints = []uint64{0, 1, 2, 3, 4, 5, 31, 32, 63, 64, 100, 127, 255, 959, 960, 1000, 4095, 10_000_000, 10_000_001, 1<<31 - 1, 1 << 31, 1<<32 - 1, 1 << 32, 1<<63 - 1, 1 << 63, 1<<64 - 1, 1<<64 - 2}

func word(r *rand.Rand) string {
	if r.Intn(12) == 0 {
		b := make([]byte, r.Intn(40))
		r.Read(b)
		return strings.ToValidUTF8(string(b), "?")
	}
	return words[r.Intn(len(words))]
}

var required = map[string]bool{"name": true, "parent": true, "request_id": true, "action": true, "game": true, "join": true, "seat": true, "move": true, "make_move": true}
var fens = []string{"rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1", "4k3/P7/8/8/8/8/p7/4K3 w - - 99 80", "r3k2r/8/8/8/8/8/8/R3K2R b KQkq - 3 9", "8/8/8/8/k1pP3R/8/8/4K3 b - d3 0 1", "4k3/8/8/8/8/8/8/4K2R w K - 149 200", "7k/5Q2/6K1/8/8/8/8/8 b - - 0 1", "bqnbrkrn/pppppppp/8/8/8/8/PPPPPPPP/BQNBRKRN w GEge - 0 1"}

func saneWord(r *rand.Rand, d protoreflect.MessageDescriptor, fd protoreflect.FieldDescriptor) string {
	sq := func() string { return string([]byte{byte('a' + r.Intn(8)), byte('1' + r.Intn(8))}) }
	pick := func(l ...string) string { return l[r.Intn(len(l))] }
	switch fd.Name() {
	case "name":
		if d.Name() == "RuleProfile" {
			return pick("fide_standard", "fide_rapid", "fide_blitz", "fide_online", "lichess", "chesscom", "uscf", "ics", "house_handbook")
		}
		return fmt.Sprintf("games/f%d", r.Intn(40))
	case "parent":
		return fmt.Sprintf("games/f%d", r.Intn(40))
	case "game_id":
		return fmt.Sprintf("f%d", r.Intn(40))
	case "request_id":
		return fmt.Sprintf("q-%d", r.Intn(100000))
	case "move", "intended_move", "sealed_move":
		return pick(sq()+sq(), "e2e4", "e7e5", "Nf3", "Nc6", "d4", "d5", "O-O", "g1f3", "b8c6", "e4", "a3", "a6", "h3", "h6")
	case "squares", "from", "to", "square", "from_square":
		return sq()
	case "fen":
		return fens[r.Intn(len(fens))]
	case "moves":
		return pick("e4", "e5", "Nf3", "Nc6", "g1f3")
	case "pgn":
		if d.Name() == "TimeControl" || r.Intn(3) == 0 {
			return pick("5400+30", "1+0", "60", "40/5400:1800+30", "*10", "300+3")
		}
		return pick("1. e4 e5 2. Nf3 Nc6 *", "[White \"A\"]\n[Result \"1-0\"]\n\n1. f3 e5 2. g4 Qh4# 0-1", "1. e4 {[%clk 0:01:00]} e5 1-0", "1. e4 (1. d4 d5) e5 $3 1/2-1/2")
	case "arbiter", "reason", "white_player", "black_player":
		return pick("A", "Anna", "B\nINFO forged")
	case "page_token":
		return ""
	}
	return ""
}

// fill sets fields of a message by chance.
func fill(r *rand.Rand, m protoreflect.Message, depth int, sane bool) {
	fs := m.Descriptor().Fields()
	for i := 0; i < fs.Len(); i++ {
		fd := fs.Get(i)
		if sane && (fd.Name() == "platform_time" || fd.Name() == "expected_sequence") && r.Intn(8) != 0 {
			continue
		}
		if sane && required[string(fd.Name())] {
		} else if r.Intn(3) != 0 && !(depth == 0 && r.Intn(3) != 0) {
			continue
		}
		scalar := func(fd protoreflect.FieldDescriptor) protoreflect.Value {
			switch fd.Kind() {
			case protoreflect.BoolKind:
				return protoreflect.ValueOfBool(r.Intn(2) == 0)
			case protoreflect.EnumKind:
				n := protoreflect.EnumNumber(r.Intn(6))
				if sane {
					vs := fd.Enum().Values()
					n = vs.Get(r.Intn(vs.Len())).Number()
				} else if r.Intn(20) == 0 {
					n = protoreflect.EnumNumber(int32(ints[r.Intn(len(ints))]))
				}
				return protoreflect.ValueOfEnum(n)
			case protoreflect.Int32Kind:
				if sane && m.Descriptor().FullName() == "google.protobuf.Duration" {
					return protoreflect.ValueOfInt32(int32(r.Intn(2)) * 500_000_000)
				}
				if sane {
					return protoreflect.ValueOfInt32(int32(r.Intn(1200)))
				}
				return protoreflect.ValueOfInt32(int32(ints[r.Intn(len(ints))]))
			case protoreflect.Uint32Kind:
				return protoreflect.ValueOfUint32(uint32(ints[r.Intn(len(ints))]))
			case protoreflect.Int64Kind:
				if sane && m.Descriptor().FullName() == "google.protobuf.Duration" {
					return protoreflect.ValueOfInt64(int64(r.Intn(4000)))
				}
				if sane {
					return protoreflect.ValueOfInt64(int64(r.Intn(30)))
				}
				return protoreflect.ValueOfInt64(int64(ints[r.Intn(len(ints))]))
			case protoreflect.Uint64Kind:
				v := ints[r.Intn(len(ints))]
				if fd.Name() == "budget_nodes" {
					v %= 20000
				}
				return protoreflect.ValueOfUint64(v)
			case protoreflect.StringKind:
				if sane {
					if v := saneWord(r, m.Descriptor(), fd); v != "" {
						return protoreflect.ValueOfString(v)
					}
				}
				return protoreflect.ValueOfString(strings.ToValidUTF8(word(r), "?"))
			case protoreflect.BytesKind:
				return protoreflect.ValueOfBytes([]byte(word(r)))
			}
			return fd.Default()
		}
		switch {
		case fd.IsMap():
			mp := m.Mutable(fd).Map()
			for k := r.Intn(4); k > 0; k-- {
				if fd.MapValue().Kind() == protoreflect.MessageKind {
					continue
				}
				mp.Set(scalar(fd.MapKey()).MapKey(), scalar(fd.MapValue()))
			}
		case fd.IsList():
			l := m.Mutable(fd).List()
			for k := r.Intn(5); k > 0; k-- {
				if fd.Kind() == protoreflect.MessageKind {
					if depth < 5 {
						v := l.NewElement()
						fill(r, v.Message(), depth+1, sane)
						l.Append(v)
					}
				} else {
					l.Append(scalar(fd))
				}
			}
		case fd.Kind() == protoreflect.MessageKind:
			if depth < 6 {
				fill(r, m.Mutable(fd).Message(), depth+1, sane)
			}
		default:
			m.Set(fd, scalar(fd))
		}
	}
}

func mutate(r *rand.Rand, b []byte) []byte {
	b = append([]byte{}, b...)
	for k := 1 + r.Intn(4); k > 0; k-- {
		switch r.Intn(7) {
		case 0:
			if len(b) > 0 {
				b[r.Intn(len(b))] ^= 1 << r.Intn(8)
			}
		case 1:
			if len(b) > 0 {
				b = b[:r.Intn(len(b))]
			}
		case 2:
			if len(b) > 0 {
				i := r.Intn(len(b))
				b = append(b[:i:i], append([]byte{byte(r.Intn(256))}, b[i:]...)...)
			}
		case 3:
			b = protowire.AppendTag(b, protowire.Number(1+r.Intn(40)), protowire.Type(r.Intn(6)))
			b = protowire.AppendVarint(b, ints[r.Intn(len(ints))])
		case 4:
			b = append(b, b...)
		case 5:
			if len(b) > 2 {
				i, j := r.Intn(len(b)), r.Intn(len(b))
				if i > j {
					i, j = j, i
				}
				b = append(b[:i:i], b[j:]...)
			}
		case 6:
			x := make([]byte, r.Intn(30))
			r.Read(x)
			b = append(b, x...)
		}
		if len(b) > 60000 {
			b = b[:60000]
		}
	}
	return b
}

func fuzz(args []string) {
	f := flag.NewFlagSet("fuzz", flag.ExitOnError)
	n := f.Int64("n", size[int64](500_000, 8_000), "requests")
	port := f.Int("port", 51240, "")
	seed := f.Int64("seed", time.Now().UnixNano(), "")
	limit := f.Duration("limit", time.Hour, "")
	workers := f.Int("workers", 8, "")
	f.Parse(args)
	fmt.Println("seed", *seed)
	dir := fmt.Sprintf("%s/fuzz-%d", base, *port)
	os.RemoveAll(dir)
	os.Remove(fmt.Sprintf("%s/server-%d.log", base, *port))
	s := Start(*port, dir+"/referee.db", nil, nil, "--log", "debug")
	_, err := s.Ready(10 * time.Second)
	must(err)
	makeGames(s.Addr(), "f", 20)
	type method struct {
		path   string
		in     protoreflect.MessageDescriptor
		cs, ss bool
	}
	var ms []method
	var files []protoreflect.FileDescriptor
	protoregistry.GlobalFiles.RangeFilesByPackage("referee.v1", func(fd protoreflect.FileDescriptor) bool {
		files = append(files, fd)
		return true
	})
	sort.Slice(files, func(i, j int) bool { return files[i].Path() < files[j].Path() })
	for _, fd := range files {
		for i := 0; i < fd.Services().Len(); i++ {
			sv := fd.Services().Get(i)
			for j := 0; j < sv.Methods().Len(); j++ {
				m := sv.Methods().Get(j)
				ms = append(ms, method{fmt.Sprintf("/%s/%s", sv.FullName(), m.Name()), m.Input(), m.IsStreamingClient(), m.IsStreamingServer()})
			}
		}
	}
	for _, p := range []string{"/grpc.reflection.v1.ServerReflection/ServerReflectionInfo", "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo"} {
		ms = append(ms, method{p, nil, true, true})
	}
	for _, p := range []string{"/grpc.health.v1.Health/Check", "/grpc.health.v1.Health/Watch"} {
		ms = append(ms, method{p, nil, false, strings.HasSuffix(p, "Watch")})
	}
	codes := map[string]map[string]int{}
	odd := map[string]string{}
	var mu sync.Mutex
	var done, ok atomic.Int64
	begin := time.Now()
	p := StartProbe(s.Addr(), "probe-fuzz", 50*time.Millisecond)
	var wg sync.WaitGroup
	for w := 0; w < *workers; w++ {
		wg.Add(1)
		r := rand.New(rand.NewSource(*seed + int64(w)))
		go func() {
			defer wg.Done()
			c := dial(s.Addr(), grpc.WithDefaultCallOptions(grpc.ForceCodec(rawCodec{})))
			defer c.Close()
			for done.Add(1) <= *n && time.Since(begin) < *limit && s.Alive() {
				m := ms[r.Intn(len(ms))]
				body := func() []byte {
					if m.in == nil || r.Intn(10) == 0 {
						x := make([]byte, r.Intn(60))
						r.Read(x)
						if r.Intn(2) == 0 {
							x = protowire.AppendString(protowire.AppendTag(nil, protowire.Number(1+r.Intn(8)), 2), word(r))
						}
						return x
					}
					d := dynamicpb.NewMessage(m.in)
					fill(r, d, 0, r.Intn(4) != 0)
					b, err := proto.Marshal(d)
					if err != nil {
						b = nil
					}
					if r.Intn(3) == 0 {
						b = mutate(r, b)
					}
					return b
				}
				ctx, cancel := context.WithTimeout(context.Background(), 300*time.Millisecond)
				if !m.ss {
					cancel()
					ctx, cancel = ctxT(10 * time.Second)
				}
				in := body()
				var err error
				if !m.ss && !m.cs {
					var out []byte
					err = c.Invoke(ctx, m.path, in, &out)
				} else {
					var st grpc.ClientStream
					st, err = c.NewStream(ctx, &grpc.StreamDesc{ClientStreams: m.cs, ServerStreams: true}, m.path)
					if err == nil {
						k := 1
						if m.cs {
							k = 1 + r.Intn(3)
						}
						st.SendMsg(in)
						for ; k > 1; k-- {
							st.SendMsg(body())
						}
						st.CloseSend()
						for i := 0; i < 5 && err == nil; i++ {
							var out []byte
							err = st.RecvMsg(&out)
						}
						if err != nil && err.Error() == "EOF" {
							err = nil
						}
					}
				}
				cancel()
				k := codeOf(err)
				if err == nil {
					ok.Add(1)
				}
				mu.Lock()
				if codes[m.path] == nil {
					codes[m.path] = map[string]int{}
				}
				codes[m.path][k]++
				if k == "Unknown" || k == "Internal" || k == "DataLoss" || (k == "Unavailable" && s.Alive()) {
					key := m.path + " " + fmt.Sprintf("%.60s", err.Error())
					if odd[key] == "" && len(odd) < 40 {
						odd[key] = fmt.Sprintf("%.300s body %x", err.Error(), in)
					}
				}
				mu.Unlock()
			}
		}()
	}
	wg.Wait()
	p.Stop("fuzz")
	rss, peak := s.RSS()
	b, _ := os.ReadFile(s.Log)
	for m, c := range codes {
		fmt.Println(" ", m, c)
	}
	for k, v := range odd {
		fmt.Println("  ODD", k, "\n     ", v)
	}
	fmt.Printf("FUZZ requests=%d ok=%d in %v alive=%v panics=%d errors in log=%d RSS=%d peak=%d log=%d KB\n", min(done.Load(), *n), ok.Load(), time.Since(begin).Round(time.Second), s.Alive(),
		strings.Count(string(b), "panicked"), strings.Count(string(b), " ERROR "), rss, peak, len(b)/1000)
	// Whatever the fuzz did to games, their records hold.
	if s.Alive() {
		c := dial(s.Addr())
		l, err := games(c).ListGames(context.Background(), &pb.ListGamesRequest{PageSize: 1000})
		must(err)
		good, bad := 0, 0
		for i, g := range l.Games {
			if i > size(150, 15) {
				break
			}
			out := sh("%s export --server http://%s %s > %s/r.record && %s verify %s/r.record 2>&1 | tail -1; rm -f %s/r.record", refereeBinary, s.Addr(), g.Name, dir, refereeBinary, dir, dir)
			if strings.Contains(out, "verified") {
				good++
			} else {
				bad++
				problem("fuzz: the record of %s: %s", g.Name, out)
			}
		}
		fmt.Printf("  records of %d games: %d verified, %d not\n", len(l.Games), good, bad)
	}
	need(s.Alive(), "fuzz: the server ended")
	need(strings.Count(string(b), "panicked") == 0, "fuzz: the log has a panic")
	for m, c := range codes {
		need(c["Unknown"] == 0 && c["Internal"] == 0 && c["DataLoss"] == 0, "fuzz: %s: %v", m, c)
	}
	fmt.Println("  stop:", s.Stop())
}
