"""A program in each language that tries what it must not do and tells on stderr what worked; it never passes.

`@PLANTED@` stands for a file of the user's, `@PORT@` for a local port that listens.
"""

from __future__ import annotations

LEAKS = {
    "js": """
const fs = require('fs'), cp = require('child_process'), net = require('net')
let told = 'leaks:'
try { fs.readFileSync('@PLANTED@'); told += ' read' } catch (e) {}
try { fs.writeFileSync('@PLANTED@.js', 'x'); told += ' write' } catch (e) {}
try { if (!cp.spawnSync('/bin/true').error) told += ' process' } catch (e) {}
const done = () => { fs.writeSync(2, told + '\\n'); process.exit(1) }
const s = net.connect(@PORT@, '127.0.0.1', () => { told += ' network'; done() })
s.on('error', done)
""",
    "java": """
import java.io.*;
import java.net.*;
import java.nio.file.*;
public class Main {
    interface Try { void go() throws Exception; }
    static String told = "leaks:";
    static void tries(String what, Try t) { try { t.go(); told += " " + what; } catch (Throwable e) { } }
    public static void main(String[] args) {
        tries("read", () -> Files.readAllBytes(Paths.get("@PLANTED@")));
        tries("write", () -> Files.write(Paths.get("@PLANTED@.java"), new byte[1]));
        tries("process", () -> new ProcessBuilder("/bin/true").start().waitFor());
        tries("network", () -> new Socket("127.0.0.1", @PORT@).close());
        System.err.println(told);
        System.exit(1);
    }
}
""",
    "go": """package main

import (
    "fmt"
    "net"
    "os"
    "os/exec"
    "testing"
)

func TestLeaks(t *testing.T) {
    told := "leaks:"
    tries := func(what string, err error) {
        if err == nil {
            told += " " + what
        }
    }
    _, err := os.ReadFile("@PLANTED@")
    tries("read", err)
    tries("write", os.WriteFile("@PLANTED@.go", nil, 0600))
    tries("process", exec.Command("/bin/true").Run())
    _, err = net.Dial("tcp", "127.0.0.1:@PORT@")
    tries("network", err)
    fmt.Fprintln(os.Stderr, told)
    os.Exit(1)
}
""",
    "cpp": """
#include <arpa/inet.h>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <string>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
int main() {
    std::string told = "leaks:";
    if (std::ifstream("@PLANTED@").good()) told += " read";
    if (std::ofstream("@PLANTED@.cpp").good()) told += " write";
    pid_t child = fork();
    if (child == 0) _exit(0);
    if (child > 0) { waitpid(child, 0, 0); told += " process"; }
    int s = socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in to = {};
    to.sin_family = AF_INET;
    to.sin_port = htons(@PORT@);
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (connect(s, (sockaddr *)&to, sizeof to) == 0) told += " network";
    std::cerr << told << std::endl;
    return 1;
}
""",
    "rust": """fn main(){}
#[test]
fn leaks() {
    let mut told = String::from("leaks:");
    if std::fs::read("@PLANTED@").is_ok() { told += " read"; }
    if std::fs::write("@PLANTED@.rs", "x").is_ok() { told += " write"; }
    if std::process::Command::new("/bin/true").status().is_ok() { told += " process"; }
    if std::net::TcpStream::connect("127.0.0.1:@PORT@").is_ok() { told += " network"; }
    use std::io::Write;
    let _ = writeln!(std::io::stderr(), "{}", told);
    std::process::exit(1);
}
""",
}

ENDLESS = {
    "js": "for (;;) {}",
    "java": "public class Main { public static void main(String[] a) { for (;;) {} } }",
    "go": 'package main\n\nimport "testing"\n\nfunc TestX(t *testing.T) {\n    for {\n    }\n}\n',
    "cpp": "int main() { volatile int x = 0; for (;;) x = x + 1; }",
    "rust": "fn main(){}\n#[test]\nfn x() { loop {} }\n",
}

GREEDY = {
    "js": "const kept = []; for (;;) kept.push(new Array(1 << 20).fill(7))",
    "java": "import java.util.*;\npublic class Main { public static void main(String[] a) {"
    " List<int[]> kept = new ArrayList<>(); for (;;) kept.add(new int[1 << 22]); } }",
    "cpp": "#include <vector>\n#include <cstring>\nint main() { std::vector<char *> v;"
    " for (;;) { v.push_back(new char[1 << 24]); memset(v.back(), 1, 1 << 24); } }",
    "rust": "fn main(){}\n#[test]\nfn x() { let mut v = vec![]; loop { v.push(vec![1u8; 1 << 24]); } }\n",
}

BROKEN = {
    "java": "public class Main { int f( { } }",
    "go": "package main\n\nfunc f( {\n}\n",
    "cpp": "int main( { }",
    "rust": "fn main(){\n",
}

RIGHT = {
    "js": "console.assert(1 + 1 === 2)",
    "java": "public class Main { public static void main(String[] a) { if (1 + 1 != 2) throw new AssertionError(); } }",
    "go": 'package main\n\nimport (\n    "testing"\n    "github.com/stretchr/testify/assert"\n)\n\n'
    "func TestX(t *testing.T) {\n    assert := assert.New(t)\n    assert.Equal([]int{2}, []int{1 + 1})\n}\n",
    "cpp": "#include <assert.h>\nint main() { assert(1 + 1 == 2); }",
    "rust": "fn main(){}\n#[test]\nfn x() { assert_eq!(1 + 1, 2); }\n",
}
