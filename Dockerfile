# One image for every role of the cluster: Hadoop from Maven Central's jars, the shim built here, and the policies.
# Steps stand in the order in which they change: system packages, Hadoop's jars, Python's packages, our code.

FROM debian:bookworm-slim AS system
RUN apt-get update \
 && apt-get install --yes --no-install-recommends \
      ca-certificates openjdk-17-jre-headless python3 python3-venv \
 && rm -rf /var/lib/apt/lists/*
# daemons run as hadoop; alice and bob are ordinary users, to try access lists with
RUN useradd --create-home --shell /bin/bash hadoop \
 && useradd --create-home --shell /bin/bash alice \
 && useradd --create-home --shell /bin/bash bob


FROM system AS java-build
RUN apt-get update \
 && apt-get install --yes --no-install-recommends maven openjdk-17-jdk-headless \
 && rm -rf /var/lib/apt/lists/*
WORKDIR /build
# The poms alone first: this layer holds every downloaded jar, and stays until a pom changes.
COPY jvm-bridge/pom.xml ./
COPY jvm-bridge/shim/pom.xml shim/
COPY jvm-bridge/embedded/pom.xml embedded/
COPY jvm-bridge/dist/pom.xml dist/
COPY jvm-bridge/bench/pom.xml bench/
RUN mvn --quiet --batch-mode -DskipTests -pl shim,embedded,dist package \
 && mkdir -p /jars/hadoop /jars/loomcard \
 && cp dist/target/lib/*.jar /jars/hadoop/ \
 && rm /jars/hadoop/loomcard-*.jar
COPY jvm-bridge ./
RUN mvn --quiet --batch-mode --offline -Dmaven.test.skip=true -pl shim,embedded,dist package \
 && cp dist/target/lib/loomcard-*.jar /jars/loomcard/


FROM system AS python-build
RUN python3 -m venv /opt/loomcard/venv
COPY pyproject.toml /build/
RUN python3 -c "import tomllib; print(*tomllib.load(open('/build/pyproject.toml', 'rb'))['project']['dependencies'], sep='\n')" \
      > /build/requirements.txt \
 && /opt/loomcard/venv/bin/pip install --no-cache-dir --quiet -r /build/requirements.txt
COPY LICENSE NOTICE README.md /build/
COPY hadoop-conf /build/hadoop-conf
COPY policies /build/policies
COPY python /build/python
RUN /opt/loomcard/venv/bin/pip install --no-cache-dir --quiet --no-deps /build


FROM system AS runtime
ENV JAVA_HOME=/usr/lib/jvm/default-java \
    HADOOP_CONF_DIR=/etc/hadoop \
    LANG=C.UTF-8 \
    PATH=/opt/loomcard/bin:/opt/loomcard/venv/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
# Debian names the JDK's folder after the machine's architecture; hadoop-hdfs.jar lacks the web pages' folders,
# without which NameNode and DataNode do not start.
RUN ln -s "$(dirname "$(dirname "$(readlink -f /usr/bin/java)")")" "$JAVA_HOME" \
 && mkdir -p /opt/hadoop/web/webapps/hdfs /opt/hadoop/web/webapps/datanode /etc/hadoop /opt/pyspark \
 && install -d -o hadoop -g hadoop /data /etc/hadoop
COPY --from=java-build /jars/hadoop /opt/hadoop/lib
COPY --from=python-build /opt/loomcard/venv /opt/loomcard/venv
COPY --from=java-build /jars/loomcard /opt/loomcard/lib
COPY hadoop-conf /opt/loomcard/hadoop-conf
COPY policies /opt/loomcard/policies
COPY docker/bin /opt/loomcard/bin
USER hadoop
WORKDIR /data
ENTRYPOINT ["hadoop-role"]


# Spark's client in a Python environment of its own; the cluster itself does not need it.
FROM system AS spark-build
RUN python3 -m venv /opt/pyspark \
 && /opt/pyspark/bin/pip install --no-cache-dir --quiet pyspark==3.5.9


FROM runtime AS spark
COPY --from=spark-build /opt/pyspark /opt/pyspark
ENV SPARK_HOME=/opt/pyspark/lib/python3.11/site-packages/pyspark \
    PATH=/opt/pyspark/bin:$PATH


FROM runtime
