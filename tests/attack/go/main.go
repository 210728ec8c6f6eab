package main

import (
	"fmt"
	"os"
	"sort"
)

var commands = map[string]func([]string){}

func main() {
	if len(os.Args) < 2 || commands[os.Args[1]] == nil {
		var names []string
		for n := range commands {
			names = append(names, n)
		}
		sort.Strings(names)
		fmt.Println("usage: adv COMMAND ...; commands:", names)
		os.Exit(64)
	}
	must(os.MkdirAll(base, 0o755))
	commands[os.Args[1]](os.Args[2:])
	finish()
}
