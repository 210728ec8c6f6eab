// A small backend of a platform: has games refereed and follows them, whatever becomes of the server.
// What became of each game is printed as a line of JSON.
//
//	backend ADDRESS GAMES [PLATFORM]
//
// GAMES has a game a line: {"id": ..., "game": {...}, "actions": [{"seat": ..., ...}, ...]}, with a
// `Game` and `Action`s of the contract as JSON. The label `platform` tells them from others. The
// variables that commands of the referee obey say whom to trust and who asks: REFEREE_CA and
// REFEREE_TOKEN_FILE; PACE is how long to think before each action, such as 500ms.
package main

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	pb "referee/v1"

	"google.golang.org/genproto/googleapis/rpc/code"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
)

const (
	atOnce   = 8  // games that are played at the same time
	attempts = 90 // at one call, which takes more than two minutes
)

var comeAgain = map[string]bool{"UNAVAILABLE": true, "RESOURCE_EXHAUSTED": true, "DEADLINE_EXCEEDED": true}

// refereeError is an error of the referee, decoded: the reason, and the fields at fault.
type refereeError struct {
	Code   string   `json:"code"`
	Reason string   `json:"reason"`
	Fields []string `json:"fields"`
	text   string
}

func (e *refereeError) Error() string { return e.Code + " " + e.Reason + ": " + e.text }

func decode(err error) *refereeError {
	found := status.Convert(err)
	made := &refereeError{Code: code.Code(found.Code()).String(), Fields: []string{}, text: found.Message()}
	for _, detail := range found.Details() {
		switch detail := detail.(type) {
		case *errdetails.ErrorInfo:
			made.Reason = detail.Reason
		case *errdetails.BadRequest:
			for _, violation := range detail.FieldViolations {
				made.Fields = append(made.Fields, violation.Field)
			}
		}
	}
	return made
}

// waitToRetry waits before a call is repeated; it returns the error where a repetition would fail as well.
func waitToRetry(err error, trailer metadata.MD, attempt int) error {
	found := decode(err)
	wait := min(2*time.Second, 50*time.Millisecond<<min(attempt, 10))
	if pushback := trailer.Get("grpc-retry-pushback-ms"); len(pushback) > 0 {
		millis, err := strconv.Atoi(pushback[0])
		if err != nil || millis < 0 {
			return found
		}
		wait = time.Duration(millis) * time.Millisecond
	}
	if !comeAgain[found.Code] || attempt >= attempts {
		return found
	}
	time.Sleep(wait)
	return nil
}

type token string

func (file token) GetRequestMetadata(context.Context, ...string) (map[string]string, error) {
	// It is read again for each call, so that the next one counts when the file is replaced.
	text, err := os.ReadFile(string(file))
	return map[string]string{"authorization": "Bearer " + strings.TrimSpace(string(text))}, err
}

func (token) RequireTransportSecurity() bool { return true }

type referee struct {
	stub pb.GameServiceClient
	pace time.Duration
}

func connect(address string) (*referee, error) {
	options := []grpc.DialOption{
		grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: 20 * time.Second, Timeout: 5 * time.Second}),
		// A server that comes back is found within a second, since the clock of a player runs then.
		grpc.WithConnectParams(grpc.ConnectParams{
			Backoff:           backoff.Config{BaseDelay: 100 * time.Millisecond, Multiplier: 1.6, Jitter: 0.2, MaxDelay: time.Second},
			MinConnectTimeout: 3 * time.Second,
		}),
		grpc.WithDefaultServiceConfig(`{"loadBalancingConfig": [{"round_robin": {}}]}`),
	}
	trusted := insecure.NewCredentials()
	if file := os.Getenv("REFEREE_CA"); file != "" {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		pool := x509.NewCertPool()
		pool.AppendCertsFromPEM(text)
		trusted = credentials.NewTLS(&tls.Config{RootCAs: pool})
	}
	options = append(options, grpc.WithTransportCredentials(trusted))
	if file := os.Getenv("REFEREE_TOKEN_FILE"); file != "" {
		options = append(options, grpc.WithPerRPCCredentials(token(file)))
	}
	channel, err := grpc.NewClient(address, options...)
	if err != nil {
		return nil, err
	}
	pace, _ := time.ParseDuration(os.Getenv("PACE"))
	return &referee{pb.NewGameServiceClient(channel), pace}, nil
}

// call asks until there is an answer. That is safe: a repeated `request_id` gets the first one.
func call[Q, A any](ask func(context.Context, Q, ...grpc.CallOption) (A, error), request Q) (A, error) {
	for attempt := 0; ; attempt++ {
		var trailer metadata.MD
		within, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		answer, err := ask(within, request, grpc.Trailer(&trailer))
		cancel()
		if err == nil {
			return answer, nil
		}
		if err := waitToRetry(err, trailer, attempt); err != nil {
			return answer, err
		}
	}
}

// stream hands on every message of a stream once, until `heard` says that it was enough: `open` says what
// to go on after.
func stream[A any](open func(context.Context) (grpc.ServerStreamingClient[A], error), heard func(*A) bool) error {
	for attempt := 0; ; attempt++ {
		within, cancel := context.WithCancel(context.Background())
		messages, err := open(within)
		for err == nil {
			var message *A
			if message, err = messages.Recv(); err == nil {
				if attempt = 0; heard(message) {
					cancel()
					return nil
				}
			}
		}
		cancel()
		if errors.Is(err, io.EOF) {
			continue
		}
		var trailer metadata.MD
		if messages != nil {
			trailer = messages.Trailer()
		}
		if err := waitToRetry(err, trailer, attempt); err != nil {
			return err
		}
	}
}

func (r *referee) act(name, requestID string, action *pb.Action) (*pb.SubmitActionResponse, error) {
	action = proto.Clone(action).(*pb.Action)
	action.RequestId = requestID
	return call(r.stub.SubmitAction, &pb.SubmitActionRequest{Name: name, Action: action})
}

// follow follows a game to its end; it returns that, and every sequence that it heard, each once.
func (r *referee) follow(name string, after int64) (end *pb.GameEnd, sequences []int64, err error) {
	open := func(within context.Context) (grpc.ServerStreamingClient[pb.WatchGameResponse], error) {
		return r.stub.WatchGame(within, &pb.WatchGameRequest{Name: name, AfterSequence: &after})
	}
	err = stream(open, func(message *pb.WatchGameResponse) bool {
		if event := message.GetEvent(); event != nil {
			after = event.Sequence
			sequences = append(sequences, after)
		}
		end = message.GetEnd()
		return end != nil
	})
	return end, sequences, err
}

// followAll follows all games of a platform until so many are final; it returns what it heard of each.
func (r *referee) followAll(platform string, games int) (map[string][]int64, error) {
	heard, cursor := map[string][]int64{}, ""
	open := func(within context.Context) (grpc.ServerStreamingClient[pb.WatchGamesResponse], error) {
		labels := map[string]string{"platform": platform}
		return r.stub.WatchGames(within, &pb.WatchGamesRequest{Labels: labels, AfterCursor: &cursor})
	}
	err := stream(open, func(message *pb.WatchGamesResponse) bool {
		cursor = message.Cursor
		if event := message.GetEvent(); event != nil {
			heard[event.Name] = append(heard[event.Name], event.Event.Sequence)
			if event.Event.GetOutcome().GetConfirmed() {
				games--
			}
		}
		return games == 0
	})
	return heard, err
}

type script struct {
	ID      string            `json:"id"`
	Game    json.RawMessage   `json:"game"`
	Actions []json.RawMessage `json:"actions"`
}

type told struct {
	Name        string   `json:"name"`
	Result      string   `json:"result"`
	Termination string   `json:"termination"`
	Finality    string   `json:"finality"`
	Sequences   []int64  `json:"sequences"`
	TurnedDown  []string `json:"turned_down"`
	Repeated    bool     `json:"repeated"`
}

func (s *script) read(platform string) (*pb.Game, []*pb.Action, error) {
	game, actions := &pb.Game{}, make([]*pb.Action, len(s.Actions))
	if err := protojson.Unmarshal(s.Game, game); err != nil {
		return nil, nil, err
	}
	for number, text := range s.Actions {
		actions[number] = &pb.Action{}
		if err := protojson.Unmarshal(text, actions[number]); err != nil {
			return nil, nil, err
		}
	}
	if game.Labels == nil {
		game.Labels = map[string]string{}
	}
	game.Labels["platform"] = platform
	return game, actions, nil
}

// watched is what a watcher heard of a game.
type watched struct {
	end       *pb.GameEnd
	sequences []int64
	err       error
}

// play plays a game as it is written down, while somebody watches, and returns what there is to tell of it.
func (r *referee) play(platform string, s *script) (*told, error) {
	game, actions, err := s.read(platform)
	if err != nil {
		return nil, err
	}
	id := platform + "-" + s.ID
	created, err := call(r.stub.CreateGame, &pb.CreateGameRequest{Game: game, GameId: id, RequestId: id})
	if err != nil {
		return nil, err
	}
	made := &told{Name: created.Game.Name, TurnedDown: []string{}}
	watcher := make(chan watched, 1)
	go func() {
		end, sequences, err := r.follow(made.Name, 0)
		watcher <- watched{end, sequences, err}
	}()
	var answer *pb.SubmitActionResponse
	for number, action := range actions {
		time.Sleep(r.pace)
		if answer, err = r.act(made.Name, fmt.Sprint("action-", number), action); err != nil {
			return nil, err
		}
		if answer.Event == nil {
			made.TurnedDown = append(made.TurnedDown, answer.Ruling.Reason.String())
		}
	}
	last := len(actions) - 1
	again, err := r.act(made.Name, fmt.Sprint("action-", last), actions[last])
	if err != nil {
		return nil, err
	}
	made.Repeated = proto.Equal(again, answer)
	first := <-watcher
	if first.err != nil {
		return nil, first.err
	}
	// It can still be corrected; the arbiter makes it final, which the watcher hears as well.
	confirm := &pb.ArbiterDecision{Kind: &pb.ArbiterDecision_Confirm{Confirm: &pb.Confirm{}}}
	decision := &pb.Action{Seat: pb.Seat_SEAT_ARBITER, Kind: &pb.Action_ArbiterDecision{ArbiterDecision: confirm}}
	if _, err := r.act(made.Name, "confirm", decision); err != nil {
		return nil, err
	}
	end, later, err := r.follow(made.Name, first.end.Sequence)
	if err != nil {
		return nil, err
	}
	made.Sequences = append(first.sequences, later...)
	made.Result, made.Termination = end.Outcome.Result.String(), end.Outcome.Termination.String()
	made.Finality = end.Finality.String()
	return made, nil
}

var printing sync.Mutex

func print(value any) {
	printing.Lock()
	defer printing.Unlock()
	text, _ := json.Marshal(value)
	fmt.Println(string(text))
}

func readScripts(file string) (scripts []*script, err error) {
	opened, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer opened.Close()
	lines := bufio.NewScanner(opened)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		one := &script{}
		if err := json.Unmarshal(lines.Bytes(), one); err != nil {
			return nil, err
		}
		scripts = append(scripts, one)
	}
	return scripts, lines.Err()
}

func run(address, file, platform string) error {
	referee, err := connect(address)
	if err != nil {
		return err
	}
	scripts, err := readScripts(file)
	if err != nil {
		return err
	}
	misnamed := &pb.CreateGameRequest{Game: &pb.Game{}, GameId: "No such name!", RequestId: "misnamed"}
	if _, err := call(referee.stub.CreateGame, misnamed); err != nil {
		print(err)
	}
	heard := make(chan map[string][]int64, 1)
	failed := make(chan error, len(scripts)+1)
	go func() {
		all, err := referee.followAll(platform, len(scripts))
		if err != nil {
			failed <- err
		}
		heard <- all
	}()
	waiting := make(chan *script)
	var players sync.WaitGroup
	for range atOnce {
		players.Go(func() {
			for one := range waiting {
				made, err := referee.play(platform, one)
				if err != nil {
					failed <- fmt.Errorf("%s: %w", one.ID, err)
					continue
				}
				print(made)
			}
		})
	}
	for _, one := range scripts {
		waiting <- one
	}
	close(waiting)
	players.Wait()
	select {
	case err := <-failed:
		return err
	case all := <-heard:
		print(map[string]any{"heard": all})
	}
	return nil
}

func main() {
	if len(os.Args) < 3 {
		fmt.Fprintln(os.Stderr, "backend ADDRESS GAMES [PLATFORM]")
		os.Exit(64)
	}
	platform := "go"
	if len(os.Args) > 3 {
		platform = os.Args[3]
	}
	if err := run(os.Args[1], os.Args[2], platform); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
