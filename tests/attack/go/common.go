// Shared by all attacks: a server under test, plans of legal moves, figures from /proc.
package main

import (
	"context"
	"fmt"
	"math/rand"
	"os"
	"os/exec"
	"path/filepath"
	"sort"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	pb "referee/v1"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/credentials/insecure"
	hv1 "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"
)

var refereeBinary = env("REFEREE", "referee")
var base = env("ATTACK_DIR", os.TempDir()+"/referee-attack")

func env(k, d string) string {
	if v := os.Getenv(k); v != "" {
		return v
	}
	return d
}

type Server struct {
	Port  int
	Store string
	Cmd   *exec.Cmd
	Log   string
	done  chan struct{}
	state *os.ProcessState
}

// Start runs `referee serve`; prefix is put before it (such as prlimit or faketime), extra behind.
func Start(port int, store string, environ []string, prefix []string, extra ...string) *Server {
	os.MkdirAll(filepath.Dir(store), 0o755)
	args := append([]string{}, prefix...)
	args = append(args, refereeBinary, "serve", "--listen", fmt.Sprintf("127.0.0.1:%d", port), "--store", store)
	args = append(args, extra...)
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Env = append(os.Environ(), environ...)
	logName := fmt.Sprintf("%s/server-%d.log", base, port)
	log, err := os.OpenFile(logName, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	must(err)
	cmd.Stdout, cmd.Stderr = log, log
	must(cmd.Start())
	log.Close()
	s := &Server{Port: port, Store: store, Cmd: cmd, Log: logName, done: make(chan struct{})}
	go func() { cmd.Wait(); s.state = cmd.ProcessState; close(s.done) }()
	return s
}

func (s *Server) Addr() string { return fmt.Sprintf("127.0.0.1:%d", s.Port) }

// Ready waits until a call is answered. The port takes connections before the store is open.
func (s *Server) Ready(limit time.Duration) (time.Duration, error) {
	begin := time.Now()
	c := dial(s.Addr(), grpc.WithConnectParams(grpc.ConnectParams{Backoff: backoff.Config{BaseDelay: 5 * time.Millisecond, Multiplier: 1, MaxDelay: 5 * time.Millisecond}}))
	defer c.Close()
	for time.Since(begin) < limit {
		ctx, cancel := ctxT(time.Second)
		_, err := hv1.NewHealthClient(c).Check(ctx, &hv1.HealthCheckRequest{Service: "liveness"})
		cancel()
		if !s.Alive() {
			return 0, fmt.Errorf("server ended: %v", s.state)
		}
		if err == nil {
			return time.Since(begin), nil
		}
		time.Sleep(2 * time.Millisecond)
	}
	return 0, fmt.Errorf("not ready after %v", limit)
}

func (s *Server) Pid() int { return s.Cmd.Process.Pid }
func (s *Server) Kill()    { s.Cmd.Process.Kill(); <-s.done }
func (s *Server) Signal(sig syscall.Signal) {
	s.Cmd.Process.Signal(sig)
}
func (s *Server) Wait(limit time.Duration) (string, bool) {
	select {
	case <-s.done:
		return s.state.String(), true
	case <-time.After(limit):
		return "still running", false
	}
}
func (s *Server) Alive() bool {
	select {
	case <-s.done:
		return false
	default:
		return true
	}
}

// Stop drains and, if need be, kills.
func (s *Server) Stop() string {
	s.Signal(syscall.SIGTERM)
	if st, ok := s.Wait(15 * time.Second); ok {
		return st
	}
	s.Kill()
	return "killed after 15 s"
}

func procStatus(pid int, key string) int {
	b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	for _, l := range strings.Split(string(b), "\n") {
		if strings.HasPrefix(l, key+":") {
			f := strings.Fields(l)
			n, _ := strconv.Atoi(f[1])
			return n
		}
	}
	return -1
}

// RSS and peak RSS in MiB.
func (s *Server) RSS() (int, int) {
	return procStatus(s.Pid(), "VmRSS") / 1024, procStatus(s.Pid(), "VmHWM") / 1024
}
func (s *Server) FDs() int {
	e, _ := os.ReadDir(fmt.Sprintf("/proc/%d/fd", s.Pid()))
	return len(e)
}

// CPU is the time on processors of all threads so far.
func (s *Server) CPU() time.Duration {
	dir := fmt.Sprintf("/proc/%d/task", s.Pid())
	tasks, _ := os.ReadDir(dir)
	sum := 0
	for _, t := range tasks {
		b, _ := os.ReadFile(dir + "/" + t.Name() + "/schedstat")
		if f := strings.Fields(string(b)); len(f) > 0 {
			n, _ := strconv.Atoi(f[0])
			sum += n
		}
	}
	return time.Duration(sum)
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}

func dial(addr string, opts ...grpc.DialOption) *grpc.ClientConn {
	opts = append([]grpc.DialOption{grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(64 << 20))}, opts...)
	c, err := grpc.NewClient(addr, opts...)
	must(err)
	return c
}

func games(c *grpc.ClientConn) pb.GameServiceClient  { return pb.NewGameServiceClient(c) }
func rules(c *grpc.ClientConn) pb.RulesServiceClient { return pb.NewRulesServiceClient(c) }

func ctxT(d time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.Background(), d)
}

func codeOf(err error) string {
	if err == nil {
		return "OK"
	}
	return status.Code(err).String()
}

// plan returns n legal plies from the ordinary start that never end the game: knights walk, and a
// pawn moves each 140 plies. At most about 3,400 plies under the FIDE Laws.
func plan(seed int64, n int) []string {
	r := rand.New(rand.NewSource(seed))
	type side struct {
		home [2]string
		out  [2][2]string
		at   [2]string
	}
	sides := [2]*side{
		{home: [2]string{"b1", "g1"}, out: [2][2]string{{"a3", "c3"}, {"f3", "h3"}}, at: [2]string{"b1", "g1"}},
		{home: [2]string{"b8", "g8"}, out: [2][2]string{{"a6", "c6"}, {"f6", "h6"}}, at: [2]string{"b8", "g8"}},
	}
	type pawn struct {
		side   int
		moves  []string
		passes string
	}
	var pawns []*pawn
	for _, f := range "acfh" {
		pawns = append(pawns, &pawn{0, []string{fmt.Sprintf("%c2%c4", f, f)}, fmt.Sprintf("%c3", f)},
			&pawn{1, []string{fmt.Sprintf("%c7%c5", f, f)}, fmt.Sprintf("%c6", f)})
	}
	for _, f := range "bdeg" {
		pawns = append(pawns, &pawn{0, []string{fmt.Sprintf("%c2%c3", f, f), fmt.Sprintf("%c3%c4", f, f)}, ""},
			&pawn{1, []string{fmt.Sprintf("%c7%c6", f, f), fmt.Sprintf("%c6%c5", f, f)}, ""})
	}
	r.Shuffle(len(pawns), func(i, j int) { pawns[i], pawns[j] = pawns[j], pawns[i] })
	seen := map[string]int{}
	var out []string
	since := 0
	for ply := 0; ply < n; ply++ {
		s := sides[ply%2]
		if since >= 120 {
			done := false
			for _, p := range pawns {
				if p.side != ply%2 || len(p.moves) == 0 || (p.passes != "" && (s.at[0] == p.passes || s.at[1] == p.passes)) {
					continue
				}
				out = append(out, p.moves[0])
				p.moves = p.moves[1:]
				since, done = 0, true
				seen = map[string]int{}
				break
			}
			if done {
				continue
			}
		}
		best, bestN := "", 1<<30
		var bi int
		var bt string
		for i := 0; i < 2; i++ {
			var targets []string
			if s.at[i] == s.home[i] {
				targets = s.out[i][:]
			} else {
				targets = []string{s.home[i]}
			}
			for _, t := range targets {
				was := s.at[i]
				s.at[i] = t
				key := fmt.Sprint(sides[0].at, sides[1].at, ply%2)
				s.at[i] = was
				k := seen[key]*16 + r.Intn(16)
				if k < bestN {
					bestN, best, bi, bt = k, was+t, i, t
				}
			}
		}
		s.at[bi] = bt
		seen[fmt.Sprint(sides[0].at, sides[1].at, ply%2)]++
		out = append(out, best)
		since++
	}
	return out
}

func seatOf(ply int) pb.Seat {
	if ply%2 == 0 {
		return pb.Seat_SEAT_WHITE
	}
	return pb.Seat_SEAT_BLACK
}

func moveAction(seat pb.Seat, id, mv string) *pb.Action {
	return &pb.Action{Seat: seat, RequestId: id, Kind: &pb.Action_MakeMove{MakeMove: &pb.MakeMove{Move: mv}}}
}

type Hist struct {
	mu sync.Mutex
	d  []time.Duration
	e  map[string]int
}

func (h *Hist) add(d time.Duration, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if err != nil {
		if h.e == nil {
			h.e = map[string]int{}
		}
		h.e[codeOf(err)]++
		return
	}
	h.d = append(h.d, d)
}
func (h *Hist) String() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.d) == 0 {
		return fmt.Sprintf("n=0 errors=%v", h.e)
	}
	sort.Slice(h.d, func(i, j int) bool { return h.d[i] < h.d[j] })
	q := func(p float64) time.Duration { return h.d[int(p*float64(len(h.d)-1))].Round(10 * time.Microsecond) }
	return fmt.Sprintf("n=%d p50=%v p90=%v p99=%v max=%v errors=%v", len(h.d), q(.5), q(.9), q(.99), q(1), h.e)
}

// Probe is a well-behaved client: each interval one GetGame, one ValidateMove and one move.
type Probe struct {
	get, val, mov Hist
	addr, id      string
	begin, latest time.Time // when the clock of the timed game began, at the earliest and the latest
	stop          chan struct{}
	wg            sync.WaitGroup
}

func StartProbe(addr, id string, every time.Duration) *Probe {
	p := &Probe{stop: make(chan struct{}), addr: addr, id: fmt.Sprintf("%s-clock-%d", id, time.Now().UnixNano()), begin: time.Now()}
	c := dial(addr)
	if err := createTimed(c, p.id, "3600+0", "lichess"); err != nil {
		problem("probe: a timed game: %v", err)
	}
	p.latest = time.Now()
	create := func(id string) {
		ctx, cancel := ctxT(20 * time.Second)
		_, err := games(c).CreateGame(ctx, &pb.CreateGameRequest{GameId: id, RequestId: "c-" + id, Game: &pb.Game{}})
		cancel()
		if err != nil && codeOf(err) != "AlreadyExists" {
			problem("probe: create: %v", err)
		}
	}
	create(id)
	moves := plan(7, 3000)
	p.wg.Add(1)
	go func() {
		defer p.wg.Done()
		defer c.Close()
		ply := 0
		for {
			select {
			case <-p.stop:
				return
			case <-time.After(every):
			}
			// A long attack outlasts a game.
			if ply == len(moves) {
				id += "-next"
				create(id)
				ply = 0
			}
			timed := func(h *Hist, f func(ctx context.Context) error) error {
				ctx, cancel := ctxT(10 * time.Second)
				defer cancel()
				t := time.Now()
				err := f(ctx)
				h.add(time.Since(t), err)
				return err
			}
			timed(&p.get, func(ctx context.Context) error {
				_, err := games(c).GetGame(ctx, &pb.GetGameRequest{Name: "games/" + id})
				return err
			})
			timed(&p.val, func(ctx context.Context) error {
				_, err := rules(c).ValidateMove(ctx, &pb.ValidateMoveRequest{Move: "e2e4"})
				return err
			})
			err := timed(&p.mov, func(ctx context.Context) error {
				_, err := games(c).SubmitAction(ctx, &pb.SubmitActionRequest{Name: "games/" + id,
					Action: moveAction(seatOf(ply), fmt.Sprintf("m-%d", ply), moves[ply])})
				return err
			})
			if err == nil {
				ply++
			}
		}
	}()
	return p
}

func (p *Probe) Stop(label string) {
	close(p.stop)
	p.wg.Wait()
	fmt.Printf("  beside [%s]: get %s\n", label, p.get.String())
	fmt.Printf("  beside [%s]: val %s\n", label, p.val.String())
	fmt.Printf("  beside [%s]: move %s\n", label, p.mov.String())
	for _, h := range []struct {
		what string
		hist *Hist
	}{{"GetGame", &p.get}, {"ValidateMove", &p.val}, {"a move", &p.mov}} {
		median, worst, n, failed := h.hist.bounds()
		need(n > 0 && failed == 0 && median < besideMedian && worst < besideWorst,
			"beside [%s]: %s of a well-behaved client: %d answered, %d not, median %v, worst %v; bounds %v and %v", label, h.what, n, failed, median, worst, besideMedian, besideWorst)
	}
	p.clock(label)
}

// clock moves in the timed game, and compares what its clock was charged with the time that passed.
func (p *Probe) clock(label string) {
	c := dial(p.addr)
	defer c.Close()
	from := time.Now()
	r, err := timedMove(c, p.id, 0, "e2e4")
	if err != nil || r.Event == nil {
		problem("beside [%s]: a move in a timed game: %v %v", label, err, r.GetRuling().GetText())
		return
	}
	least, most := from.Sub(p.latest).Seconds()-clockSeconds, time.Since(p.begin).Seconds()+clockSeconds
	charged := 0.0
	ctx, cancel := ctxT(20 * time.Second)
	defer cancel()
	l, err := games(c).ListGameEvents(ctx, &pb.ListGameEventsRequest{Parent: "games/" + p.id, PageSize: 100})
	if err != nil {
		problem("beside [%s]: the events of a timed game: %v", label, err)
		return
	}
	for _, e := range l.Events {
		for _, x := range e.Ledger {
			charged += x.Charged.AsDuration().Seconds()
		}
	}
	fmt.Printf("  beside [%s]: a clock was charged %.1f s of %.1f s\n", label, charged, time.Since(p.latest).Seconds())
	need(charged >= least && charged <= most, "beside [%s]: a clock was charged %.1f s, where %.1f to %.1f had passed: %s", label, charged, least, most, story(c, p.id))
}

// bounds returns the median and the longest of the answers, and how many there were and were not.
func (h *Hist) bounds() (median, worst time.Duration, n, failed int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, k := range h.e {
		failed += k
	}
	if n = len(h.d); n > 0 {
		sort.Slice(h.d, func(i, j int) bool { return h.d[i] < h.d[j] })
		median, worst = h.d[n/2], h.d[n-1]
	}
	return
}
