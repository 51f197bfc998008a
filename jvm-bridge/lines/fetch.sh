#!/usr/bin/env bash
# fetch.sh RELEASE|LINE.txt...: the jars of these releases of Hadoop that the scheduler uses, into target/hadoop/RELEASE; all jars
# of a list of hadoop-jars, into target/jars/LINE. One run of Maven for all of them, which knows this machine's mirrors: only a
# list in a pom can name one artifact in several versions.
set -euo pipefail
mkdir -p "$(dirname "$0")/target" && cd "$(dirname "$0")/target"
exec 9> fetch.lock
flock 9 # one at a time: fetch.xml and Maven's repository are of all
item() {
  [ -f "$folder/$2-$3${4:+-$4}.jar" ] || echo "<artifactItem><groupId>$1</groupId><artifactId>$2</artifactId>\
<version>$3</version><classifier>${4:-}</classifier><outputDirectory>$folder</outputDirectory></artifactItem>"
}
listed() {
  while read -r _ _ path; do
    IFS=/ read -r -a parts <<< "$path" # GROUP/ARTIFACT/VERSION/ARTIFACT-VERSION[-CLASSIFIER].jar
    artifact=${parts[-3]} version=${parts[-2]} file=${parts[-1]}
    group=${path%/"$artifact"/*} rest=${file#"$artifact-$version"}
    rest=${rest%.jar}
    item "${group//\//.}" "$artifact" "$version" "${rest#-}"
  done < "../../../hadoop-jars/$1"
}
items=$(for release; do
  folder=hadoop/$release
  case $release in
  *.txt)
    folder=jars/${release%.txt}
    listed "$release"
    continue
    ;;
  esac
  for name in common auth yarn-{api,common,server-common,server-resourcemanager,server-nodemanager,server-web-proxy}; do
    item org.apache.hadoop "hadoop-$name" "$release"
  done
  # Of other libraries, what 3.4.2 does without.
  item com.google.protobuf protobuf-java 2.5.0
  item commons-collections commons-collections 3.2.2
done)
[ -n "$items" ] || exit 0
echo "lines: fetching jars of Hadoop (the first time some 190 MB, 100 MB for a list)"
cat > fetch.xml <<X
<project><modelVersion>4.0.0</modelVersion><groupId>org.loomcard</groupId><artifactId>lines</artifactId>
<version>0</version><packaging>pom</packaging><build><plugins><plugin>
<groupId>org.apache.maven.plugins</groupId><artifactId>maven-dependency-plugin</artifactId><version>3.11.0</version>
<configuration><artifactItems>$items</artifactItems></configuration></plugin></plugins></build></project>
X
mvn -q -B -Dstyle.color=never -f fetch.xml dependency:copy
