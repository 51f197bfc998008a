"""A stand-in for HiBench's folder that behaves like HiBench's scripts, failures included.

It follows what is known of HiBench 8. Each script reads every *.conf of HIBENCH_CONF_FOLDER in the
order of names, and later keys win. The report's folder must exist. Only run.sh appends a line to
hibench.report. A file `fail-STEP` in the stand-in's folder lets a step fail, `silent` leaves out
the report, and `hold-WORKLOAD` keeps a run going until it is ended.
"""

from pathlib import Path

from loomcard.suite.hibench.installation import PROGRAMS, Installation
from loomcard.suite.hibench.workloads import WORKLOADS

MANDATORY = (
    "hibench.hadoop.home hibench.hadoop.executable hibench.hadoop.configure.dir hibench.hdfs.master"
    " hibench.hadoop.release hibench.hadoop.examples.jar hibench.hadoop.examples.test.jar"
    " hibench.default.map.parallelism hibench.default.shuffle.parallelism hibench.report.dir"
    " hibench.hdfs.data.dir hibench.masters.hostnames hibench.slaves.hostnames"
    " hibench.scale.profile"
)
SCRIPT = r"""
set -u
declare -A conf
for file in "$HIBENCH_CONF_FOLDER"/*.conf; do
  while read -r key value; do
    case $key in ''|\#*) ;; *) conf[$key]=$value ;; esac
  done < "$file"
done
for key in MANDATORY; do
  [ -n "${conf[$key]:-}" ] || { echo "AssertionError: $key not set"; exit 1; }
done
step=STEP workload=WORKLOAD framework=FRAMEWORK
[ ! -e "$HIBENCH_HOME/fail-$step" ] || { echo "prepare: out of room"; exit 3; }
"${conf[hibench.hadoop.executable]}" --config "${conf[hibench.hadoop.configure.dir]}" \
  jar "${conf[hibench.hadoop.examples.jar]}" $step "${conf[hibench.hdfs.data.dir]}/$workload"
[ $step = prepare ] && exit 0
if [ -e "$HIBENCH_HOME/hold-$workload" ]; then
  tail -f /dev/null & echo $! > "$HIBENCH_HOME/../held"
  wait
fi
[ ! -e "$HIBENCH_HOME/silent" ] || exit 0
printf "%-12s %-10s %-8s %-20s %-20s %-20s %-20s\n" "$framework$workload" 2026-11-23 12:00:00 \
  32768 17.5 1872 936 >> "${conf[hibench.report.dir]}/${conf[hibench.report.name]}"
"""
HADOOP = r"""#!/bin/bash
site=$(tr -d '\n' < "$2"/mapred-site.xml)
tag=${site#*job.tags</name><value>}
queue=$(grep -A1 queuename "$2"/mapred-site.xml | tr -d '\n')
echo "$* queue=$queue tag=${tag%%<*}" >> "$HIBENCH_HOME/../calls"
"""
CORE = "<configuration><property><name>fs.defaultFS</name><value>file:///</value></property>"
MAPRED = (
    "<configuration><property><name>mapreduce.job.queuename</name><value>old</value></property>"
    "<property><name>kept</name><value>1</value></property></configuration>"
)


def installed(folder: Path) -> Installation:
    """Write the stand-in, and a Hadoop with its configuration in `folder`/conf. Hadoop appends the
    arguments of each call to `folder`/calls.
    """
    home, hadoop = folder / "HiBench", folder / "hadoop"
    for each in WORKLOADS.values():
        scripts = home / "bin" / "workloads" / each.path
        for framework in each.frameworks:
            for script in ("prepare/prepare.sh", f"{framework}/run.sh"):
                text = SCRIPT.replace("MANDATORY", MANDATORY).replace("WORKLOAD", each.name)
                text = text.replace("STEP", script.partition("/")[0]).replace(
                    "FRAMEWORK", framework
                )
                (scripts / script).parent.mkdir(parents=True, exist_ok=True)
                (scripts / script).write_text(text)
    (home / "bin" / "functions").mkdir()
    (home / "bin" / "functions" / "load_config.py").touch()
    (home / "conf").mkdir()
    (home / "conf" / "hibench.conf").write_text("hibench.scale.profile huge\nkept.by.user yes\n")
    (hadoop / "bin").mkdir(parents=True)
    (hadoop / "bin" / "hadoop").write_text(HADOOP)
    (hadoop / "bin" / "hadoop").chmod(0o755)
    jars = hadoop / "share" / "hadoop" / "mapreduce"
    jars.mkdir(parents=True)
    for name in ("examples-3.4.2", "client-jobclient-3.4.2-tests"):
        (jars / f"hadoop-mapreduce-{name}.jar").touch()
    conf = folder / "conf"
    conf.mkdir()
    (conf / "core-site.xml").write_text(CORE + "</configuration>")
    (conf / "mapred-site.xml").write_text(MAPRED)
    return Installation(home, Path(), None, hadoop)


def programs(folder: Path, *names: str) -> Path:
    """Write stand-ins for the programs that HiBench needs, or only for those named; return their
    folder, for the PATH.
    """
    folder.mkdir()
    for name in names or PROGRAMS:
        (folder / name).write_text("#!/bin/sh\n")
        (folder / name).chmod(0o755)
    return folder
