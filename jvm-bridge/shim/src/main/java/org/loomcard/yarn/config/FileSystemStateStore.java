package org.loomcard.yarn.config;

import java.io.ByteArrayOutputStream;
import java.io.FileNotFoundException;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.CreateFlag;
import org.apache.hadoop.fs.FSDataInputStream;
import org.apache.hadoop.fs.FSDataOutputStream;
import org.apache.hadoop.fs.FileContext;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.Options;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.permission.FsPermission;
import org.apache.hadoop.io.IOUtils;

/**
 * Files beside those of YARN's FileSystemRMStateStore in a file system of the cluster, which only
 * its user may read. Each is written beside the old one, flushed, and renamed. As with that store,
 * a ResourceManager that was active earlier is not fenced. It does not serve for {@code file:}:
 * Hadoop's own local file system deletes the old file before it renames the new one, and forces
 * nothing to disk; see {@link LocalStateStore}.
 */
final class FileSystemStateStore implements StateStore {
  private static final int BUFFER = 4096;
  private final FileContext files;
  private final Path folder;

  /** @param root the value of {@code yarn.resourcemanager.fs.state-store.uri} */
  FileSystemStateStore(Path root, Configuration conf) throws IOException {
    this.files = FileContext.getFileContext(root.toUri(), conf);
    this.folder = new Path(root, "loomcard");
  }

  @Override
  public String read(String name) throws IOException {
    Path path = new Path(folder, name);
    try (FSDataInputStream in = files.open(path)) {
      ByteArrayOutputStream text = new ByteArrayOutputStream();
      IOUtils.copyBytes(in, text, BUFFER, false);
      return new String(text.toByteArray(), StandardCharsets.UTF_8);
    } catch (FileNotFoundException e) {
      return null;
    }
  }

  @Override
  public void write(String name, String text) throws IOException {
    files.mkdir(folder, new FsPermission((short) 0700), true);
    Path draft = new Path(folder, name + ".draft");
    try (FSDataOutputStream out = files.create(draft,
        EnumSet.of(CreateFlag.CREATE, CreateFlag.OVERWRITE),
        Options.CreateOpts.perms(new FsPermission((short) 0600)))) {
      out.write(text.getBytes(StandardCharsets.UTF_8));
      out.hsync();
    }
    files.rename(draft, new Path(folder, name), Options.Rename.OVERWRITE);
  }

  @Override
  public void delete(String name) throws IOException {
    Path path = new Path(folder, name);
    if (files.util().exists(path)) {
      files.delete(path, false);
    }
  }

  @Override
  public List<String> names() throws IOException {
    List<String> names = new ArrayList<>();
    if (files.util().exists(folder)) {
      for (FileStatus status : files.util().listStatus(folder)) {
        names.add(status.getPath().getName());
      }
    }
    return names;
  }

  @Override
  public boolean isShared() {
    return true;
  }

  @Override
  public void close() {
  }

  @Override
  public String place(String name) {
    return new Path(folder, name).toString();
  }
}
