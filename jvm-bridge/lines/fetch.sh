#!/usr/bin/env bash
# fetch.sh RELEASE...: the jars of these releases of Hadoop that the scheduler uses, into target/hadoop/RELEASE. One run of
# Maven for all of them: only a list in a pom can name one artifact in several versions.
set -euo pipefail
mkdir -p "$(dirname "$0")/target" && cd "$(dirname "$0")/target"
item() {
  [ -f "hadoop/$release/$2-$3.jar" ] || echo "<artifactItem><groupId>$1</groupId><artifactId>$2</artifactId>\
<version>$3</version><outputDirectory>hadoop/$release</outputDirectory></artifactItem>"
}
items=$(for release; do
  for name in common auth yarn-{api,common,server-common,server-resourcemanager,server-nodemanager}; do
    item org.apache.hadoop "hadoop-$name" "$release"
  done
  # Of other libraries, what 3.4.2 does without.
  item com.google.protobuf protobuf-java 2.5.0
  item commons-collections commons-collections 3.2.2
done)
[ -n "$items" ] || exit 0
echo "lines: fetching jars of Hadoop (the first time some 190 MB)"
cat > fetch.xml <<X
<project><modelVersion>4.0.0</modelVersion><groupId>org.loomcard</groupId><artifactId>lines</artifactId>
<version>0</version><packaging>pom</packaging><build><plugins><plugin>
<groupId>org.apache.maven.plugins</groupId><artifactId>maven-dependency-plugin</artifactId><version>3.11.0</version>
<configuration><artifactItems>$items</artifactItems></configuration></plugin></plugins></build></project>
X
mvn -q -B -Dstyle.color=never -f fetch.xml dependency:copy
