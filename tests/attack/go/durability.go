// kill -9 at random moments: what was acknowledged is there once, and repeated requests get the first answer.
package main

import (
	"bufio"
	"context"
	"crypto/sha256"
	be "encoding/binary"
	"encoding/hex"
	"flag"
	"fmt"
	"io"
	"math/rand"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	pb "referee/v1"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"
)

func init() { commands["durability"] = durability }

type ack struct {
	req  *pb.SubmitActionRequest
	hash [32]byte
	seq  int64
	ev   bool
}
type dgame struct {
	id      string
	created bool
	moves   []string
	ply     int
	tries   int // refusals
	acks    []ack
	pending *pb.SubmitActionRequest
	createH [32]byte
}

func digest(m proto.Message) [32]byte {
	b, err := proto.MarshalOptions{Deterministic: true}.Marshal(m)
	must(err)
	return sha256.Sum256(b)
}

func (g *dgame) create(ctx context.Context, c *grpc.ClientConn) (*pb.CreateGameResponse, error) {
	return games(c).CreateGame(ctx, &pb.CreateGameRequest{GameId: g.id, RequestId: "create-" + g.id,
		Game: &pb.Game{WhitePlayer: "W", BlackPlayer: "B", Labels: map[string]string{"t": "dur"}}})
}

type problems struct {
	mu   sync.Mutex
	list []string
}

func (p *problems) add(f string, a ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.list = append(p.list, fmt.Sprintf(f, a...))
	if len(p.list) < 20 {
		fmt.Println("  found:", p.list[len(p.list)-1])
	}
}

func durability(args []string) {
	f := flag.NewFlagSet("durability", flag.ExitOnError)
	rounds := f.Int("rounds", size(32, 4), "")
	n := f.Int("games", size(200, 60), "")
	port := f.Int("port", 51200, "")
	lie := f.Bool("lie", false, "a control: syncs that are not done, where problems must be found")
	span := f.Duration("span", size(2500*time.Millisecond, time.Second), "longest time to the kill")
	preload := f.String("preload", "", "LD_PRELOAD for the server")
	envs := f.String("env", "", "comma-separated environment for the server")
	how := f.String("how", "kill", "kill or term")
	warm := f.Bool("warm", false, "create the store before the first round")
	powercut := f.String("powercut", "", "powercut.so: after the kill only what was synced is sure")
	seed := f.Int64("seed", time.Now().UnixNano(), "")
	f.Parse(args)
	fmt.Println("seed", *seed)
	r := rand.New(rand.NewSource(*seed))
	store := fmt.Sprintf("%s/dur-%d/referee.db", base, *port)
	os.RemoveAll(fmt.Sprintf("%s/dur-%d", base, *port))
	var environ []string
	if *preload != "" {
		environ = append(environ, "LD_PRELOAD="+*preload)
	}
	if *envs != "" {
		environ = append(environ, strings.Split(*envs, ",")...)
	}
	gs := make([]*dgame, *n)
	for i := range gs {
		gs[i] = &dgame{id: fmt.Sprintf("d%d", i), moves: plan(int64(i), 3000)}
	}
	logf, _ := os.Create(fmt.Sprintf("%s/dur-%d.acks", base, *port))
	logw := bufio.NewWriter(logf)
	var logmu sync.Mutex
	var P problems
	var acked, refused, unsure, repeats, errs, storeErr atomic.Int64
	begin := time.Now()
	var starts []time.Duration
	nsync, ndrop, nkept := 0, 0, 0
	if *warm {
		s := Start(*port, store, nil, nil)
		_, err := s.Ready(10 * time.Second)
		must(err)
		s.Stop()
	}
	for round := 0; round < *rounds; round++ {
		dir := fmt.Sprintf("%s/dur-%d", base, *port)
		env := environ
		if *powercut != "" {
			os.RemoveAll(dir + "-base")
			os.MkdirAll(dir, 0o755)
			must(os.CopyFS(dir+"-base", os.DirFS(dir)))
			os.Remove(dir + ".journal")
			env = append(env, "LD_PRELOAD="+*powercut, "ADV_MATCH=dur-", "ADV_JOURNAL="+dir+".journal")
			if *lie {
				env = append(env, "ADV_LIE=1")
			}
		}
		s := Start(*port, store, env, nil, "--drain-timeout-seconds", "3")
		ready, err := s.Ready(60 * time.Second)
		if err != nil {
			P.add("round %d: %v", round, err)
			break
		}
		starts = append(starts, ready)
		conns := []*grpc.ClientConn{dial(s.Addr()), dial(s.Addr()), dial(s.Addr()), dial(s.Addr())}
		ctx, cancel := context.WithCancel(context.Background())
		var wg sync.WaitGroup
		for i, g := range gs {
			wg.Add(1)
			rr := rand.New(rand.NewSource(r.Int63()))
			go func() {
				defer wg.Done()
				c := conns[i%len(conns)]
				if !g.created || rr.Intn(4) == 0 {
					cc, cn := context.WithTimeout(ctx, 8*time.Second)
					res, err := g.create(cc, c)
					cn()
					if err != nil {
						if g.created && codeOf(err) != "Unavailable" && codeOf(err) != "Canceled" && codeOf(err) != "DeadlineExceeded" {
							P.add("create repeated: %v", err)
						}
						return
					}
					h := digest(res)
					if g.created && h != g.createH {
						P.add("%s: another answer to the creation", g.id)
					}
					g.created, g.createH = true, h
				}
				for ctx.Err() == nil {
					// now and then an old request is repeated
					if len(g.acks) > 0 && rr.Intn(12) == 0 {
						a := g.acks[rr.Intn(len(g.acks))]
						cc, cn := context.WithTimeout(ctx, 8*time.Second)
						res, err := games(c).SubmitAction(cc, a.req)
						cn()
						if err == nil {
							repeats.Add(1)
							if digest(res) != a.hash {
								P.add("%s: %s got another answer", g.id, a.req.Action.RequestId)
							}
						} else if k := codeOf(err); k != "Unavailable" && k != "Canceled" && k != "DeadlineExceeded" && k != "ResourceExhausted" {
							P.add("%s: repeat of %s: %v", g.id, a.req.Action.RequestId, err)
						}
						continue
					}
					if g.pending == nil {
						if g.ply >= len(g.moves) {
							return
						}
						if rr.Intn(10) == 0 {
							g.tries++
							g.pending = &pb.SubmitActionRequest{Name: "games/" + g.id,
								Action: moveAction(seatOf(g.ply+1), fmt.Sprintf("r%d", g.tries), "e2e4")}
						} else {
							g.pending = &pb.SubmitActionRequest{Name: "games/" + g.id,
								Action: moveAction(seatOf(g.ply), fmt.Sprintf("m%d", g.ply), g.moves[g.ply])}
						}
					}
					cc, cn := context.WithTimeout(ctx, 8*time.Second)
					res, err := games(c).SubmitAction(cc, g.pending)
					cn()
					if err != nil {
						k := codeOf(err)
						if k == "Unavailable" && strings.Contains(err.Error(), "store") {
							storeErr.Add(1)
							time.Sleep(5 * time.Millisecond)
							continue
						}
						if k != "Unavailable" && k != "Canceled" && k != "DeadlineExceeded" && k != "ResourceExhausted" {
							P.add("%s: %s: %v", g.id, g.pending.Action.RequestId, err)
							errs.Add(1)
							return
						}
						if ctx.Err() != nil || k == "Unavailable" {
							unsure.Add(1)
							return
						}
						continue
					}
					ev := res.Event != nil
					isMove := g.pending.Action.RequestId[0] == 'm'
					if ev != isMove {
						P.add("%s: %s: event %v: %v", g.id, g.pending.Action.RequestId, ev, res.Ruling.GetText())
						return
					}
					g.acks = append(g.acks, ack{g.pending, digest(res), res.Sequence, ev})
					logmu.Lock()
					fmt.Fprintf(logw, "%d %s %s %d %x\n", round, g.id, g.pending.Action.RequestId, res.Sequence, digest(res))
					logmu.Unlock()
					if ev {
						acked.Add(1)
						g.ply++
					} else {
						refused.Add(1)
					}
					g.pending = nil
				}
			}()
		}
		time.Sleep(100*time.Millisecond + time.Duration(r.Int63n(int64(*span))))
		if *how == "kill" {
			s.Kill()
		} else {
			t := time.Now()
			s.Signal(15)
			st, _ := s.Wait(20 * time.Second)
			if st != "exit status 0" || time.Since(t) > 4*time.Second {
				P.add("round %d: SIGTERM: %s after %v", round, st, time.Since(t))
			}
		}
		cancel()
		wg.Wait()
		for _, c := range conns {
			c.Close()
		}
		logw.Flush()
		if *powercut != "" {
			synced, kept, dropped := afterPowerCut(dir+"-base", dir+".journal", dir, r)
			nsync += synced
			ndrop += dropped
			nkept += kept
		}
		if round%4 == 3 || round == *rounds-1 {
			every := 5
			if round == *rounds-1 {
				every = 1
			}
			s := Start(*port, store, nil, nil)
			if _, err := s.Ready(60 * time.Second); err != nil {
				P.add("check %d: %v", round, err)
				break
			}
			c := dial(s.Addr())
			checked, events := 0, 0
			for i, g := range gs {
				if (i+round)%every != 0 || !g.created {
					continue
				}
				events += checkGame(c, g, &P)
				checked++
			}
			c.Close()
			if round == *rounds-1 {
				verifyByTool(s, gs, &P)
			}
			s.Kill()
			fmt.Printf("round %d: acked %d moves, %d refusals, %d unsure, %d repeats, %d store errors; checked %d games, %d events; problems %d; %v\n",
				round+1, acked.Load(), refused.Load(), unsure.Load(), repeats.Load(), storeErr.Load(), checked, events, len(P.list), time.Since(begin).Round(time.Second))
		}
	}
	var worst time.Duration
	for _, d := range starts {
		worst = max(worst, d)
	}
	if *powercut != "" {
		fmt.Printf("power cuts: %d synced writes replayed, %d unsynced kept, %d unsynced dropped\n", nsync, nkept, ndrop)
		os.Remove(fmt.Sprintf("%s/dur-%d.journal", base, *port))
	}
	switch {
	case *lie:
		need(len(P.list) > 0, "durability: syncs were not done, and nothing was found to be lost: the check is blind")
	case len(P.list) > 0:
		problem("durability: %d problems, the first: %s", len(P.list), P.list[0])
	}
	need(*lie || acked.Load() >= int64(*rounds)*size[int64](200, 20), "durability: only %d moves were acknowledged", acked.Load())
	fmt.Printf("DURABILITY rounds=%d acked=%d refusals=%d in_flight_at_kill=%d repeats_same_answer=%d store_errors=%d errors=%d problems=%d slowest_start=%v\n",
		len(starts), acked.Load(), refused.Load(), unsure.Load(), repeats.Load(), storeErr.Load(), errs.Load(), len(P.list), worst)
}

// checkGame folds the exported record independently: hashes, sequence, request ids, moves.
func checkGame(c *grpc.ClientConn, g *dgame, P *problems) int {
	ctx, cancel := ctxT(60 * time.Second)
	defer cancel()
	st, err := games(c).ExportGame(ctx, &pb.ExportGameRequest{Name: "games/" + g.id})
	if err != nil {
		P.add("%s: export: %v", g.id, err)
		return 0
	}
	var head []byte
	var n int64
	byReq := map[string]int64{}
	var moves []string
	for {
		m, err := st.Recv()
		if err == io.EOF {
			break
		}
		if err != nil {
			P.add("%s: export: %v", g.id, err)
			return 0
		}
		switch k := m.Kind.(type) {
		case *pb.ExportGameResponse_Header:
			h := sha256.New()
			io.WriteString(h, "referee.chain.v1.genesis\n")
			for _, part := range [][]byte{[]byte(k.Header.Platform), []byte(strings.TrimPrefix(k.Header.Name, "games/")), k.Header.Genesis} {
				var l [8]byte
				be.BigEndian.PutUint64(l[:], uint64(len(part)))
				h.Write(l[:])
				h.Write(part)
			}
			head = h.Sum(nil)
		case *pb.ExportGameResponse_Entry:
			n++
			h := sha256.New()
			io.WriteString(h, "referee.chain.v1.entry\n")
			h.Write(head)
			h.Write(k.Entry.Event)
			head = h.Sum(nil)
			if k.Entry.Sequence != n || hex.EncodeToString(k.Entry.ChainHash) != hex.EncodeToString(head) {
				P.add("%s: entry %d: broken chain", g.id, n)
			}
			var e pb.GameEvent
			must(proto.Unmarshal(k.Entry.Event, &e))
			if id := e.Action.GetRequestId(); id != "" {
				if _, twice := byReq[id]; twice {
					P.add("%s: %s is recorded twice", g.id, id)
				}
				byReq[id] = n
			}
			if e.Move != nil {
				moves = append(moves, e.Move.Uci)
			}
		case *pb.ExportGameResponse_Seal:
			if k.Seal.EntryCount != n || string(k.Seal.HeadHash) != string(head) {
				P.add("%s: seal does not fit", g.id)
			}
		}
	}
	for _, a := range g.acks {
		if a.ev && byReq[a.req.Action.RequestId] != a.seq {
			P.add("%s: LOST or moved: %s was acknowledged at %d, is at %d", g.id, a.req.Action.RequestId, a.seq, byReq[a.req.Action.RequestId])
		}
		if !a.ev && byReq[a.req.Action.RequestId] != 0 {
			P.add("%s: refused %s is in the record", g.id, a.req.Action.RequestId)
		}
	}
	if len(moves) > g.ply+1 || len(moves) < g.ply {
		P.add("%s: %d moves, acknowledged %d", g.id, len(moves), g.ply)
	}
	for i, mv := range moves {
		if mv != g.moves[i] {
			P.add("%s: move %d is %s, sent was %s", g.id, i, mv, g.moves[i])
			break
		}
	}
	// refusals keep their answers
	for k := 0; k < 5 && len(g.acks) > 0; k++ {
		a := g.acks[rand.Intn(len(g.acks))]
		res, err := games(c).SubmitAction(ctx, a.req)
		if err != nil {
			P.add("%s: repeat: %v", g.id, err)
		} else if digest(res) != a.hash {
			P.add("%s: %s: another answer after the restart", g.id, a.req.Action.RequestId)
		}
	}
	return int(n)
}

func verifyByTool(s *Server, gs []*dgame, P *problems) {
	ok := 0
	for i, g := range gs {
		if i%10 != 0 || !g.created {
			continue
		}
		name := fmt.Sprintf("%s/rec-%d.record", base, s.Port)
		out, err := exec.Command("sh", "-c", fmt.Sprintf("%s export --server http://%s games/%s > %s && %s verify %s 2>&1", refereeBinary, s.Addr(), g.id, name, refereeBinary, name)).CombinedOutput()
		if err != nil || !strings.Contains(string(out), "verified") {
			P.add("%s: verify: %v %s", g.id, err, out)
		} else {
			ok++
		}
		os.Remove(name)
	}
	fmt.Println("referee verify: sound", ok)
}
