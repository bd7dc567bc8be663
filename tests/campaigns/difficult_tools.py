"""Difficult programs that are lines of a shell: ways to start C programs, tools, other languages.

In a line {run} is the prefix of a program, nothing or `xsp run ... --`; {bin} has the compiled programs,
{scripts} those in Python, {python} is the interpreter. A line that ends with 77 cannot be run here.
"""

STATE = "{bin}/state again one"
LINES = {
    "state": "exec {run} {bin}/state again one",
    "state_stdin_closed": "exec {run} {bin}/state again one <&-",
    "state_stdout_closed": "exec {run} {bin}/state again one >&-",
    "state_stderr_closed": "exec {run} {bin}/state again one 2>&-",
    "state_all_closed":
        "{run} sh -c '{bin}/state again one >state.txt' <&- >&- 2>&-; cat state.txt; rm state.txt",
    "state_full": "exec {run} {bin}/state again one >/dev/full",
    "state_high_numbers":
        "exec 9>a 300>b 600>c; {run} {bin}/state again one; {run} bash -c 'echo x >&9; echo y >&600'; cat "
        "a b c",
    "state_many_numbers": "exec {bin}/starts high {run} {bin}/state again one",
    "state_ignored":
        "trap '' HUP INT QUIT PIPE TERM USR1 CHLD TSTP XFSZ PROF; exec {run} {bin}/state again one",
    "state_blocked": "exec {bin}/starts blocked {run} {bin}/state again one",
    "state_pending": "exec {run} {bin}/starts pending {bin}/state again one",
    "state_timer": "exec {run} {bin}/starts timer {bin}/state again one",
    "state_death": "exec {run} {bin}/starts death {bin}/state again one",
    "state_privileges": "exec {bin}/starts privileges {run} {bin}/state again one",
    "state_with_child": "exec {run} {bin}/starts with_child {bin}/state",
    "state_limits":
        "ulimit -n 200 -s 4096 -u 5000 -t 1000 -f 100000 -l 64 -i 100; exec {run} {bin}/state again one",
    "state_few_files": "ulimit -n 12; exec {run} {bin}/state again one",
    "state_cores": "ulimit -Sc unlimited; exec {run} {bin}/state again one",
    "state_umask": "umask 0777; exec {run} {bin}/state again one",
    "state_no_environment": "exec env -i {run} {bin}/state again one",
    "state_no_environment_inside": "exec {run} env -i {bin}/state again one",
    "state_bytes":
        "export A=$'\\xff\\xfe' $'B=\\x01\\x1b[2J'; exec {run} {bin}/state again one $'\\xc0\\xaf' '' "
        "$'a\\nb' '-h' '--'",
    "state_empty_name": "exec {run} {bin}/starts empty_name {bin}/state again one",
    "state_no_name": "exec {run} {bin}/starts no_name {bin}/state again one",
    "state_no_list": "exec {run} {bin}/starts no_list {bin}/state again one",
    "state_long_name": "{run} {bin}/starts long_name {bin}/state again one | cut -c1-300",
    "state_odd_environment": "exec {run} {bin}/starts twice {bin}/state again one",
    "state_nice": "exec nice -n 5 chrt -b 0 {run} nice -n 3 {bin}/state again one",
    "state_processor": "exec taskset -c 0 {run} {bin}/state again one",
    "state_session": "exec setsid -w {run} {bin}/state again one",
    "state_terminal": "script -qec '{run} {bin}/state again one' /dev/null </dev/null | tr -d '\\r'",
    "state_folder_gone": "mkdir gone; cd gone; rmdir ../gone; exec {run} {bin}/state again one",
    "state_personality": "exec setarch -R {run} {bin}/state again one",
    "state_rights":
        "exec {run} setpriv --reuid 65533 --regid 65533 --clear-groups --inh-caps -all --no-new-privs "
        "{bin}/state again one",
    "state_threads": "exec {run} {python} -c 'import os,sys,threading; threading.Thread(target=lambda: "
        "os.execv(sys.argv[1], sys.argv[1:])).start(); threading.Event().wait()' {bin}/state again one",
    "ended_by_pipe":
        "{run} sh -c 'while echo y; do :; done' | head -2; echo ${{PIPESTATUS[0]}}; trap '' PIPE; {run} "
        "sh -c 'while echo y; do :; done' 2>&1 | head -c 4; echo ${{PIPESTATUS[0]}}",
    "ended_by_each": "exec 2>/dev/null; for i in 1 2 3 4 6 8 10 11 13 14 15 24 25 27 31 34 64; do {run} "
        "{bin}/signal_ends $i >out; echo $i $? $(wc -c <out); done",
    "long_list": "exec {run} sh -c 'echo $# ${{#40000}}' sh $(seq 40000)",
    "long_list_inside": "exec {run} sh -c 'exec /bin/echo $(seq 30000)'",
    "big_environment":
        "export A=$(printf %0100000d 1) B=$(printf %0100000d 2); exec {run} env sh -c 'echo ${{#A}} "
        "${{#B}}'",
    "stack_small":
        "exec {run} bash -c 'ulimit -s 128; {bin}/fork_tree; {bin}/vfork; sort --version | head -1'",
    "memory_small":
        "exec {run} bash -c 'ulimit -v 100000; {bin}/fork_tree; {bin}/spawn; {bin}/exec_itself'",
    "files_few": "exec {run} bash -c 'ulimit -n 4; {bin}/fork_tree; ulimit -n 3; {bin}/fork_tree'",
    "core_file":
        "exec 2>/dev/null; ulimit -Sc unlimited; {run} {bin}/segv; echo $?; ls core* 2>/dev/null | wc "
        "-l; rm -f core*",
    "core_none": "exec 2>/dev/null; ulimit -c 0; {run} {bin}/segv; echo $?; ls",
    "overflow": "exec 2>/dev/null; ulimit -s 1000; {run} {bin}/overflow_survived; echo $?",
    "own_preload": "mkdir l; LD_PRELOAD={bin}/library {run} sh -c '/bin/true; {bin}/loads; exit 3'",
    "own_preload_inside":
        "exec {run} sh -c 'LD_PRELOAD={bin}/library {bin}/loads; LD_PRELOAD=/none.so /bin/true'",
    "own_audit": "LD_AUDIT={bin}/audit exec {run} {bin}/loads",
    "loader_debug":
        "LD_BIND_NOW=1 LD_WARN=1 {run} {bin}/loads; /lib64/ld-linux-x86-64.so.2 {bin}/fork_tree",
    "loader_first": "exec {run} /lib64/ld-linux-x86-64.so.2 {bin}/fork_tree",
    "set_user":
        "cp {bin}/state s; chmod 4755 s .; {run} setpriv --reuid 65533 --clear-groups ./s | grep -E "
        "'Uid|dumpable'",
    "other_root": "mkdir -p r/bin; cp {bin}/static r/bin/one; {run} chroot r /bin/one; echo $?",
    "namespaces_tools":
        "exec {run} unshare -Urmpf --mount-proc sh -c 'id -u; echo $$; ps -e | wc -l; exit 4'",
    "strace": "{run} strace -f -o log -e trace=execve,exit_group sh -c '/bin/true; exit 4'; echo $?; {run} "
        "strace -c -o log2 true; grep -c total log2; rm log log2",
    "gdb": "{run} gdb -q -nx -batch -ex 'set startup-with-shell off' -ex run -ex bt {bin}/segv 2>&1 | grep "
        "-E 'SIGSEGV|main' | cut -c1-40",
    "valgrind": "{run} valgrind -q --error-exitcode=9 {bin}/fork_tree; echo $?",
    "sanitizer":
        "echo 'int main(){{char*volatile p=__builtin_malloc(3);p[3]=1;}}' >a.c; cc -fsanitize=address "
        "a.c -o a || exit 77; {run} ./a 2>&1 | grep -c heap-buffer-overflow",
    "time": "TIMEFORMAT=%P; time {run} true >/dev/null 2>/dev/null; {run} bash -c 'time sh -c \"exit 4\"' "
        "2>&1 | cut -c1-4",
    "timeout":
        "{run} timeout -s KILL 0.3 sleep 20; echo $?; timeout 0.5 {run} sleep 20; echo $?; {run} timeout "
        "0.2 sh -c 'trap \"echo term; exit 3\" TERM; sleep 20 & wait'; echo $?",
    "nohup": "{run} nohup sh -c 'kill -HUP $$; echo lives' </dev/null; cat nohup.out 2>/dev/null",
    "job_control": "{run} bash -ic 'sleep 30 & jobs; kill %1; wait %1; echo $?; (exit 3) | true; echo "
        "${{PIPESTATUS[0]}}' 2>&1 | sed 's/[0-9]\\{{3,\\}}/N/g'",
    "stopped":
        "{run} sh -c 'sh -c \"kill -STOP \\$\\$; echo goes on; exit 6\" & sleep 0.2; kill -CONT $!; wait "
        "$!; echo $?'",
    "background": "{run} sh -c 'sleep 3 && echo later & echo now'; echo ended; sleep 4",
    "outlives":
        "{run} sh -c '(trap \"\" HUP; sleep 1; echo late >>late.txt) >/dev/null 2>&1 & exit 3'; echo $?; "
        "sleep 1.6; cat late.txt",
    "traps":
        "{run} bash -c 'trap \"echo exit\" EXIT; trap \"echo usr\" USR1; kill -USR1 $$; kill -TERM $$'; "
        "echo $?",
    "here_text":
        "{run} bash -c 'cat <<< text; cat <(echo one) <(echo two) | tee >(cat >three); coproc cat; echo "
        "four >&${{COPROC[1]}}; read -u ${{COPROC[0]}} x; echo $x; exec {{fd}}>five; echo six >&$fd; cat "
        "five'",
    "make": "printf 'all: a b c d\\na b c d:\\n\\t@sleep 0.0$(words $@); echo $@ > $@\\n\\t@$(MAKE) -s "
        "sub\\nsub:\\n\\t@true\\n' >Makefile; {run} make -s -j4 2>&1; cat a b c d; {run} make -s none; "
        "echo $?",
    "xargs":
        "seq 200 | {run} xargs -P 8 -n 5 sh -c 'exit 0' ; echo $?; seq 30 | {run} xargs -n 3 echo; echo "
        "1 | {run} xargs sh -c 'exit 255'; echo $?",
    "sort": "seq 300000 | {run} sort -S 1M -R --random-source=/bin/sh -T . --parallel=4 | {run} sort -n -S "
        "1M -T . | {run} md5sum; ls",
    "tar": "cp -r /usr/include/linux/netfilter n; {run} tar czf n.tgz n; {run} tar xzf n.tgz -C $(mkdir x; "
        "echo x); {run} diff -r n x/n && {run} find n -name '*.h' -exec sh -c 'echo $# $0' {{}} + | wc "
        "-w; rm n.tgz",
    "awk": "{run} awk 'BEGIN {{ while ((\"seq 5\" | getline x) > 0) s += x; print s; print \"z\\na\" | "
        "\"sort\"; close(\"sort\"); system(\"exit 3\"); exit 7 }}'",
    "perl":
        "{run} perl -e '$SIG{{USR1}} = sub {{ print \"usr\\n\" }}; $| = 1; kill USR1, $$; if (!fork) {{ "
        "exec \"sh\", \"-c\", \"exit 3\" }} wait; print $? >> 8, \"\\n\"; print `echo hi`; open F, "
        "\"|cat\"; print F \"piped\\n\"; close F; $0 = \"renamed\"; die \"dies\\n\"'",
    "perl_threads":
        "{run} perl -Mthreads -e '$_->join for map {{ threads->create(sub {{ 1 }}) }} 1..20; print "
        "\"done\\n\"; exit 5'",
    "sqlite":
        "{run} sqlite3 a.db 'PRAGMA journal_mode=WAL; CREATE TABLE t(a); WITH RECURSIVE s(i) AS (SELECT "
        "1 UNION ALL SELECT i+1 FROM s WHERE i<10000) INSERT INTO t SELECT i FROM s; SELECT sum(a) FROM "
        "t; SELECT bad;'",
    "git": "export GIT_AUTHOR_DATE='@1 +0000' GIT_COMMITTER_DATE='@1 +0000' GIT_CONFIG_COUNT=0; {run} git "
        "init -q . && echo a >a && git add a && {run} git -c user.name=n -c user.email=e commit -qm m && "
        "{run} git log -p --no-color | cat; {run} git gc -q; {run} git clone -q . c; ls c; rm -rf .git "
        "c/.git",
    "compiler":
        "echo 'int main(void) {{ return undeclared; }}' >a.c; {run} cc -pipe -c a.c; echo $?; echo 'int "
        "main(void) {{ return 6; }}' >b.c; {run} cc -O2 -flto b.c -o b && {run} ./b; echo $?; rm -f b",
    "debugger_of_shell":
        "{run} bash -xc 'x=$(echo 1); for i in 1 2; do echo $((x + i)); done; exec 2>&-; exit 4'",
    "locks": "{run} flock lock sh -c 'flock -n lock true; echo $?'; {run} flock -n lock echo free",
    "buffers": "{run} stdbuf -o0 sh -c 'echo a; {bin}/signal_ends 9; echo $?'",
    "node": "{run} node -e 'const c = require(\"child_process\"), w = require(\"worker_threads\"); "
        "process.on(\"exit\", n => console.log(\"exit\", n)); process.on(\"SIGUSR2\", () => {{ "
        "console.log(c.spawnSync(\"sh\", [\"-c\", \"exit 3\"]).status); new "
        "w.Worker(\"process.exit(4)\", {{eval: true}}).on(\"exit\", n => {{ console.log(n); "
        "process.exit(7) }}) }}); process.kill(process.pid, \"SIGUSR2\"); setTimeout(() => {{}}, 5000)'",
    "java": "echo 'class A {{ public static void main(String[] a) throws Exception {{ Thread[] t = new "
        "Thread[20]; for (int i = 0; i < 20; ++i) (t[i] = new Thread(() -> {{ Object o = null; try {{ "
        "o.hashCode(); }} catch (NullPointerException e) {{ }} }})).start(); for (Thread x : t) "
        "x.join(); System.out.println(new ProcessBuilder(\"sh\", \"-c\", \"exit 3\").start().waitFor()); "
        "Runtime.getRuntime().addShutdownHook(new Thread(() -> System.out.println(\"hook\"))); "
        "System.exit(6); }} }}' >A.java; {run} java -XX:-UsePerfData A.java",
    "go": "cat >a.go <<< 'package main\nimport (\"fmt\"; \"os\"; \"os/exec\"; \"sync\")\nfunc main() {{ "
        "var w sync.WaitGroup; for i := 0; i < 500; i++ {{ w.Add(1); go func() {{ defer w.Done(); var p "
        "*int; defer func() {{ recover() }}(); *p = 1 }}() }}; w.Wait(); "
        "fmt.Println(exec.Command(\"sh\", \"-c\", \"exit 3\").Run()); os.Exit(6) }}'; GOCACHE=$CACHE/go "
        "go build -o g a.go || exit 77; {run} ./g; echo $?; rm g",
    "rust": "echo 'fn main() {{ let t: Vec<_> = (0..20).map(|i| std::thread::spawn(move || i * "
        "2)).collect(); println!(\"{{}}\", t.into_iter().map(|t| t.join().unwrap()).sum::<i32>()); let r "
        "= std::process::Command::new(\"sh\").arg(\"-c\").arg(\"exit 3\").status(); println!(\"{{:?}}\", "
        "r); let v: Vec<i32> = vec![]; println!(\"{{}}\", v[std::env::args().count()]); }}' >a.rs; rustc "
        "-o r a.rs 2>/dev/null || exit 77; {run} ./r; echo $?; rm r",
    "musl": "echo 'int main(void) {{ return 6; }}' >a.c; musl-gcc a.c -o a || exit 77; {run} ./a",
    "not_there": "{run} /none; echo $?; {run} ./; echo $?; : >plain; {run} ./plain; echo $?",
    "not_there_inside":
        "{run} sh -c '/none; echo $?; ./; echo $?; : >plain; ./plain; echo $?; exec ./plain'",
    "no_interpreter":
        "echo 'echo $# $1; exit 4' >plain; chmod +x plain; {run} ./plain x; echo $?; PATH=$PWD:$PATH "
        "{run} plain y",
}
NEEDS = {"rust": "rustc", "musl": "musl-gcc", "sqlite": "sqlite3", "compiler": "cc", "java": "java",
         "perl_threads": "perl", "state_terminal": "script", "namespaces_tools": "unshare", "tar": "tar",
         "state_nice": "chrt", "state_rights": "setpriv", "set_user": "setpriv", "own_audit": "cc"}
for tool in ("strace", "gdb", "valgrind", "node", "go", "git", "perl", "make", "xargs", "awk"):
    NEEDS[tool] = tool
ROOT = {"set_user", "other_root", "state_rights", "changes_users"}  # a program needs rights to give them up
