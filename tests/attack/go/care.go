// Copies and verifications of a store beside games that go on.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	pb "referee/v1"

	"google.golang.org/grpc"
)

func init() { commands["care"] = care }

// movesFor plays on games for a while and measures each move.
func movesFor(addr string, gs []*dgame, d time.Duration) *Hist {
	var h Hist
	c := dial(addr)
	defer c.Close()
	until := time.Now().Add(d)
	var wg sync.WaitGroup
	for _, g := range gs {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for time.Now().Before(until) && g.ply < len(g.moves) {
				ctx, cancel := ctxT(10 * time.Second)
				t := time.Now()
				res, err := games(c).SubmitAction(ctx, &pb.SubmitActionRequest{Name: "games/" + g.id, Action: moveAction(seatOf(g.ply), fmt.Sprintf("m%d", g.ply), g.moves[g.ply])})
				cancel()
				h.add(time.Since(t), err)
				if err == nil && res.Event != nil {
					g.ply++
				}
				time.Sleep(20 * time.Millisecond)
			}
		}()
	}
	wg.Wait()
	return &h
}

func care(args []string) {
	f := flag.NewFlagSet("care", flag.ExitOnError)
	port := f.Int("port", 51280, "")
	n := f.Int("games", size(20_000, 400), "games in the store")
	span := f.Duration("span", size(20*time.Second, 4*time.Second), "how long each kind of work goes on")
	f.Parse(args)
	dir := fmt.Sprintf("%s/care-%d", base, *port)
	copies := dir + "/copies"
	os.RemoveAll(dir)
	must(os.MkdirAll(copies, 0o755))
	s := Start(*port, dir+"/referee.db", nil, nil, "--backup-folder", copies)
	if _, err := s.Ready(20 * time.Second); err != nil {
		problem("care: %v", err)
		return
	}
	defer func() { fmt.Println("  stop:", s.Stop()) }()
	filling := mkGames(*n, "c")
	for at := 0; at < len(filling); at += 200 {
		loadFor(s.Addr(), filling[at:min(at+200, len(filling))], size(300*time.Millisecond, time.Second))
	}
	playing := filling[:16]
	alone := movesFor(s.Addr(), playing, *span)
	fmt.Println("  moves alone:", alone)
	c := dial(s.Addr())
	defer c.Close()
	// beside plays on while some work is done again and again.
	beside := func(what string, work func(ctx context.Context) error) *Hist {
		ctx, cancel := context.WithCancel(context.Background())
		var done atomic.Int64
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			for ctx.Err() == nil {
				if err := work(ctx); err == nil {
					done.Add(1)
				} else if ctx.Err() == nil && codeOf(err) != "FailedPrecondition" {
					problem("care: %s: %v", what, err)
					return
				}
			}
		}()
		h := movesFor(s.Addr(), playing, *span)
		for i := 0; done.Load() == 0 && i < 600 && len(found.list) == 0; i++ {
			time.Sleep(100 * time.Millisecond)
		}
		cancel()
		<-ended
		fmt.Printf("  moves beside %s (%d times): %v\n", what, done.Load(), h)
		need(done.Load() > 0, "care: no %s came to its end", what)
		return h
	}
	copying := beside("copies", func(ctx context.Context) error {
		st, err := pb.NewStoreServiceClient(c).BackUpStore(ctx, &pb.BackUpStoreRequest{})
		return toEnd(st, err)
	})
	verifying := beside("verifications", func(ctx context.Context) error {
		st, err := pb.NewStoreServiceClient(c).VerifyStore(ctx, &pb.VerifyStoreRequest{})
		for err == nil {
			var m *pb.VerifyStoreResponse
			if m, err = st.Recv(); err == nil && m.GetFinding() != nil {
				problem("care: a sound store: %v", m.GetFinding())
			}
		}
		if err == io.EOF {
			err = nil
		}
		return err
	})
	first, _, _, _ := alone.bounds()
	for what, h := range map[string]*Hist{"copies": copying, "verifications": verifying} {
		median, worst, count, failed := h.bounds()
		need(count > 0 && failed == 0 && worst < besideWorst && median <= 2*first+size(5*time.Millisecond, 50*time.Millisecond),
			"care: moves beside %s: median %v where it is %v alone, worst %v, %d failed", what, median, first, worst, failed)
	}
	memory(s, "care")
	_, peak := s.RSS()
	made, _ := filepath.Glob(copies + "/*.db")
	parts, _ := filepath.Glob(copies + "/.*.part")
	fmt.Printf("  store %s, %d copies, peak %d MiB\n", sh("du -sh %s/referee.db | cut -f1", dir), len(made), peak)
	need(len(made) > 0, "care: there is no copy")
	time.Sleep(time.Second)
	parts, _ = filepath.Glob(copies + "/.*.part")
	need(len(parts) == 0, "care: parts of copies are left: %v", parts)
	for i, name := range made {
		if i < 3 || i == len(made)-1 {
			out := sh("%s store verify %s 2>&1", refereeBinary, name)
			need(strings.Contains(out, ": sound, "), "care: a copy: %s", out)
		}
	}
}

func toEnd(st grpc.ServerStreamingClient[pb.BackUpStoreResponse], err error) error {
	for err == nil {
		_, err = st.Recv()
	}
	if err == io.EOF {
		return nil
	}
	return err
}
