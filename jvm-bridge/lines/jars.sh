#!/usr/bin/env bash
# jars.sh RELEASE > hadoop-jars/LINE.txt: every jar that the embedded cluster of that release needs, with checksum and size.
# That of 3.4 is made with the wheel, from the build's own class path.
set -euo pipefail
release=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
item() {
  echo "<dependency><groupId>$1</groupId><artifactId>$2</artifactId><version>$3</version>${4:-}</dependency>"
}
hadoop() {
  item org.apache.hadoop "hadoop-$1" "${2:-$release}" "${3:-}"
}
alone='<exclusions><exclusion><groupId>*</groupId><artifactId>*</artifactId></exclusion></exclusions>'
examples=$release managed="" more="" timeline=timelineservice
case $release in
2.*) ;;
*) managed="<dependencyManagement><dependencies>$(hadoop project "$release" '<type>pom</type><scope>import</scope>')\
</dependencies></dependencyManagement>" ;;
esac
case $release in
2.7.*) timeline=applicationhistoryservice ;; # the later one is not there yet
3.[12].*) more=$(item javax.activation javax.activation-api 1.2.0) ;; # a JDK 17 has none
esac
case $release in
3.2.*) examples=3.1.4 ;; # of these two there are no examples on Maven Central
3.5.*) examples=3.4.2 ;;
esac
cat > "$work/pom.xml" <<X
<project><modelVersion>4.0.0</modelVersion><groupId>org.loomcard</groupId><artifactId>lines</artifactId>
<version>0</version><packaging>pom</packaging>$managed<dependencies>
$(for name in client hdfs yarn-server-{resourcemanager,nodemanager,$timeline} mapreduce-client-{hs,shuffle}; do
  hadoop "$name"
done)
$(hadoop mapreduce-examples "$examples" "$alone")
$(hadoop mapreduce-client-jobclient "$release" '<type>test-jar</type>')
$(item junit junit 4.13.2)
$more
</dependencies></project>
X
mvn -q -B -Dstyle.color=never -f "$work/pom.xml" org.apache.maven.plugins:maven-dependency-plugin:3.11.0:build-classpath \
  -DincludeScope=runtime -Dmdep.outputFile="$work/list" -Dmdep.pathSeparator=, -Dmdep.localRepoProperty=. >&2
cd "$(mvn -q -B -Dstyle.color=never help:evaluate -Dexpression=settings.localRepository -DforceStdout | tr -dc '[:print:]')"
tr , '\n' < "$work/list" | cut -c3- | LC_ALL=C sort | while read -r jar; do
  echo "$(sha256sum < "$jar" | cut -d' ' -f1) $(stat -c %s "$jar") $jar"
done
