# One image for every role of the cluster: Hadoop from Maven Central's jars, the shim built here, and the policies.
# Steps stand in the order in which they change: system packages, Python's packages, Hadoop's jars, our code.

# Where the jars come from: java-build, or java-wheel, for which an installed package puts them beside this file.
ARG JARS=java-build
# The Hadoop line of the image, such as 3.3.
ARG HADOOP=3.4

FROM debian:bookworm-slim AS system
RUN apt-get update \
 && apt-get install --yes --no-install-recommends \
      ca-certificates openjdk-17-jre-headless python3 python3-venv \
 && rm -rf /var/lib/apt/lists/*
# daemons run as hadoop; alice and bob are ordinary users, to try access lists with
RUN useradd --create-home --shell /bin/bash hadoop \
 && useradd --create-home --shell /bin/bash alice \
 && useradd --create-home --shell /bin/bash bob
ENV JAVA_HOME=/usr/lib/jvm/default-java \
    HADOOP_CONF_DIR=/etc/hadoop \
    LANG=C.UTF-8
# Debian names the JDK's folder after the machine's architecture.
RUN ln -s "$(dirname "$(dirname "$(readlink -f /usr/bin/java)")")" "$JAVA_HOME"


FROM system AS java-build
RUN apt-get update \
 && apt-get install --yes --no-install-recommends maven openjdk-17-jdk-headless \
 && rm -rf /var/lib/apt/lists/*
WORKDIR /build
COPY jvm-bridge ./
# What is downloaded stays in the builder's cache, whatever changes here. Hadoop's jars go to a folder of their own, so that
# their layer of the image stays as long as they do.
RUN --mount=type=cache,target=/root/.m2 \
    mvn --quiet --batch-mode -Dmaven.test.skip=true -pl shim,embedded,player,dist package \
 && mkdir -p /jars/hadoop-3.4 /jars/loomcard \
 && mv dist/target/lib/loomcard-*.jar /jars/loomcard/ \
 && mv dist/target/lib/*.jar /jars/hadoop-3.4/
# Hadoop's jars of another line, by Maven too, and compared with their checksums.
COPY hadoop-jars /hadoop-jars
ARG HADOOP
RUN --mount=type=cache,target=/root/.m2 \
    set -e; list=/hadoop-jars/$HADOOP.txt; [ "$HADOOP" != 3.4 ] || exit 0; \
    [ -f "$list" ] || { echo "LOOMCARD_HADOOP=$HADOOP: no such line; name one of 3.4" \
      "$(basename --suffix=.txt --multiple /hadoop-jars/*.txt | xargs)" >&2; exit 2; }; \
    lines/fetch.sh "$HADOOP.txt" && mv "lines/target/jars/$HADOOP" "/jars/hadoop-$HADOOP"; \
    cd "/jars/hadoop-$HADOOP" && sed 's, .*/,  ,' "$list" | sha256sum --check --quiet
# Hadoop 2.7 has a jar of its own, in the place of ours.
RUN --mount=type=cache,target=/root/.m2 \
    set -e; own=line-$HADOOP; [ -d "$own" ] || exit 0; \
    mvn --quiet --batch-mode -Dmaven.test.skip=true -f "$own" package; \
    rm /jars/loomcard/*; cp "$own"/target/loomcard-*.jar /jars/loomcard/


FROM scratch AS java-wheel
ARG HADOOP
COPY jars/${HADOOP} /jars


FROM ${JARS} AS jars


FROM system AS python-build
RUN python3 -m venv /opt/loomcard/venv
COPY pyproject.toml requirements.lock /build/
RUN python3 -c "import tomllib; print(*tomllib.load(open('/build/pyproject.toml', 'rb'))['project']['dependencies'], sep='\n')" \
      > /build/requirements.txt \
 && /opt/loomcard/venv/bin/pip install --no-cache-dir --quiet -c /build/requirements.lock -r /build/requirements.txt
COPY LICENSE NOTICE README.md hatch_build.py /build/
COPY hadoop-conf /build/hadoop-conf
COPY hadoop-jars /build/hadoop-jars
COPY policies /build/policies
COPY python /build/python
RUN /opt/loomcard/venv/bin/pip install --no-cache-dir --quiet --no-deps /build


FROM system AS runtime
ENV PATH=/opt/loomcard/bin:/opt/loomcard/venv/bin:$PATH
# hadoop-hdfs.jar lacks the folders of its web pages, without which NameNode and DataNode do not start
RUN mkdir -p /opt/hadoop/web/webapps/hdfs /opt/hadoop/web/webapps/datanode /opt/pyspark \
 && install -d -o hadoop -g hadoop /data /etc/hadoop
ARG HADOOP
COPY --from=jars /jars/hadoop-${HADOOP} /opt/hadoop/lib
COPY --from=python-build /opt/loomcard/venv /opt/loomcard/venv
COPY --from=jars /jars/loomcard /opt/loomcard/lib
COPY docker/bin /opt/loomcard/bin
ENV LOOMCARD_HADOOP=$HADOOP
USER hadoop
WORKDIR /data
ENTRYPOINT ["hadoop-role"]


# Spark's client in a Python environment of its own, with the Hadoop client that Spark brings.
FROM system AS spark
COPY python/loomcard/suite/requirements.txt /opt/spark-conf/
RUN python3 -m venv /opt/pyspark \
 && /opt/pyspark/bin/pip install --no-cache-dir --quiet -r /opt/spark-conf/requirements.txt
COPY docker/spark-defaults.conf /opt/spark-conf/
ENV SPARK_HOME=/opt/pyspark/lib/python3.11/site-packages/pyspark \
    SPARK_CONF_DIR=/opt/spark-conf \
    PATH=/opt/pyspark/bin:$PATH
USER hadoop


FROM debian:bookworm-slim AS prometheus
RUN apt-get update \
 && apt-get install --yes --no-install-recommends prometheus \
 && rm -rf /var/lib/apt/lists/*
USER prometheus
ENTRYPOINT ["prometheus", "--config.file=/etc/prometheus/prometheus.yml", "--storage.tsdb.path=/var/lib/prometheus/metrics2"]


# The classes that the daemons load, recorded here and mapped into memory by each JVM of the cluster.
FROM runtime AS archive
RUN --mount=type=bind,source=docker/archive-classes,target=/tmp/archive-classes \
    mkdir archive && bash /tmp/archive-classes archive


FROM runtime
COPY --from=archive /data/archive /opt/hadoop/archive
