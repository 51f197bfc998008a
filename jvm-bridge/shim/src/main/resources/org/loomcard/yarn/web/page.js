/*
 * Draws the document of /ws/v1/cluster/scheduler. Names in it come from users and policies, so each
 * text becomes an element's textContent, which no browser reads as HTML.
 */
"use strict";

const page = document.getElementById("page");

function add(parent, tag, text, kind) {
  const child = document.createElement(tag);
  child.textContent = text === undefined ? "" : text;
  child.className = kind || "";
  return parent.appendChild(child);
}

/** A cell is a text, a number, or a function that fills its element. */
function table(title, headings, rows, level = "h2") {
  if (title) add(page, level, title);
  const body = add(page, "table");
  const head = add(body, "tr");
  headings.forEach(heading => add(head, "th", heading));
  for (const row of rows) {
    const line = add(body, "tr");
    for (const cell of row) {
      if (typeof cell === "function") cell(add(line, "td"));
      else if (typeof cell === "number") add(line, "td", number(cell), "number");
      else add(line, "td", cell);
    }
  }
}

function number(value) {
  return value.toLocaleString("en-US", { maximumFractionDigits: 2 });
}

function percent(share) {
  return (100 * share).toFixed(1) + " %";
}

function time(ms) {
  return new Date(ms).toISOString().slice(0, 19).replace("T", " ") + " UTC";
}

function times(count) {
  return count === 1 ? "once" : number(count) + " times";
}

function counted(count, thing) {
  return number(count) + " " + thing + (count === 1 ? "" : "s");
}

function amount([name, value]) {
  if (name !== "memory_mb") {
    return number(value) + " " + (name === "vcores" && value === 1 ? "vcore" : name);
  }
  return Math.abs(value) < 1024 ? value + " MB" : number(value / 1024) + " GB";
}

/** A resource in one line for a text, or in one line per type for a cell. */
function amounts(resource, between = ", ", none = "none") {
  return Object.entries(resource || {}).map(amount).join(between) || none;
}

function usage(resource) {
  return Object.values(resource || {}).some(value => value !== 0) ? amounts(resource, "\n") : "-";
}

function link(application) {
  return cell => { add(cell, "a", application).href =
      "/cluster/app/" + encodeURIComponent(application); };
}

function tiles(info) {
  const { config, bridge, allocations, refusals, cluster } = info;
  const all = add(page, "div", "", "tiles");
  const tile = (kind, name, value, more) => {
    const box = add(all, "div", "", "tile " + kind);
    add(box, "b", name);
    add(box, "i", value);
    add(box, "span", more);
  };
  tile("up", "Policy", config.policy || "none", "version " + config.version + ", " + config.source
      + "\nhash " + (config.hash || "").slice(0, 12));
  const over = bridge.recovered_ms === null ? "" : " (recovered at " + time(bridge.recovered_ms) + ")";
  tile(bridge.state, "Policy process", bridge.state, "since " + time(bridge.since_ms) + ", failed "
      + times(bridge.failures) + ", started again " + times(bridge.restarts) + "\n"
      + (bridge.last_failure === null ? "no failure so far"
        : "last failure" + over + ": " + bridge.last_failure));
  tile("up", "Containers allocated by policy", number(allocations.policy));
  tile(allocations.fallback > 0 ? "fallback" : "up", "Allocated by the fallback",
      number(allocations.fallback));
  tile("up", "Rounds", number(bridge.rounds), "the last took " + bridge.last_round_ms + " ms");
  const refused = Object.entries(refusals);
  tile("up", "Decisions refused", number(refused.reduce((sum, [, count]) => sum + count, 0)),
      refused.map(([reason, count]) => reason + " " + number(count)).join(", "));
  tile("up", "Nodes", number(cluster.nodes), amounts(cluster.capacity));
}

/** The largest ratio of an amount to the queue's maximum, or to the cluster where it has none. */
function share(part, queue, capacity) {
  const ratios = Object.entries(part || {}).map(([name, value]) => {
    const whole = (queue.maximum || {})[name] || capacity[name];
    return whole > 0 ? value / whole : 0;
  });
  return Math.min(1, Math.max(0, ...ratios));
}

/** What is used, from the left; then what is pending; and a mark at the end of the guarantee. */
function bar(queue, capacity) {
  return cell => {
    const used = share(queue.used, queue, capacity);
    const box = add(cell, "div", "", "bar");
    add(box, "div", "", "used").style.width = 100 * used + "%";
    const pending = add(box, "div", "", "pending");
    pending.style.left = 100 * used + "%";
    pending.style.width = 100 * Math.min(1 - used, share(queue.pending, queue, capacity)) + "%";
    const guaranteed = share(queue.guaranteed, queue, capacity);
    if (guaranteed > 0) add(box, "div", "", "mark").style.left = 100 * guaranteed + "%";
    add(cell, "span", percent(used), "small");
  };
}

function queueName(queue) {
  return cell => {
    const names = queue.path.split(".");
    cell.textContent = names[names.length - 1]
        + (queue.state && queue.state !== "running" ? " (" + queue.state + ")" : "");
    cell.title = queue.path;
    cell.style.paddingLeft = names.length + "em";
  };
}

function policyOf(queue) {
  return cell => {
    cell.textContent = queue.policy || "(governed from above)";
    for (const [name, value] of Object.entries(queue.options || {})) {
      add(cell, "div", name + ": " + text(value), "small");
    }
  };
}

function queues(info) {
  table("Queues", ["Queue", "Policy", "Weight", "Use of maximum", "Used", "Pending", "Guaranteed",
      "Entitled", "Maximum", "Apps", "Containers", "May submit"], info.queues.map(queue => [
    queueName(queue), policyOf(queue), queue.weight, bar(queue, info.cluster.capacity),
    usage(queue.used), usage(queue.pending), usage(queue.guaranteed), usage(queue.entitlement),
    amounts(queue.maximum, "\n", "no limit"), queue.applications || 0, queue.containers || 0,
    (queue.submit || []).map(name => name === "*" ? "everyone" : name).join(", ") || "nobody"]));
}

function labels(info) {
  const rows = info.queues.flatMap(queue => Object.entries(queue.by_label || {}).map(
      ([label, on]) => [label, queue.path, amounts(on.guaranteed, "\n", "-"), usage(on.used),
        usage(on.lent), amounts(on.maximum, "\n", "no limit")]));
  if (rows.length === 0) return;
  table("Queues on labelled nodes",
      ["Label", "Queue", "Guaranteed", "Used", "Of that, lent", "At most"],
      rows.sort(([one], [other]) => one < other ? -1 : one > other ? 1 : 0));
  add(page, "p", "Lent: used by containers that asked for no label. Those that ran before this"
      + " ResourceManager started count as asked for.");
}

function limit(key, value) {
  if (key === "maximum_allocation") return amounts(value);
  if (!key.endsWith("_ppm")) return text(value);
  return typeof value === "number" ? percent(value / 1e6)
    : Object.entries(value).map(([label, ppm]) => label + " " + percent(ppm / 1e6)).join(", ");
}

/** Each limit by its key in the document, beside what counts against it. */
function limits(info) {
  const rows = info.queues.flatMap(queue => {
    const now = {
      maximum_applications: queue.applications,
      maximum_applications_per_user: Object.entries(queue.applications_by_user || {})
          .map(([user, count]) => user + " " + count).join(", "),
      am_share_ppm: amounts(queue.used_by_ams),
    };
    const shares = Object.entries({ user_limit_ppm: queue.user_limit_ppm,
      am_share_ppm: queue.am_share_ppm }).filter(([, ppm]) => ppm < 1e6);
    return shares.concat(Object.entries(queue.limits || {})).map(([key, value]) => [queue.path,
      key.replace("_ppm", "").replaceAll("_", " "), limit(key, value), now[key]]);
  });
  if (rows.length > 0) table("Limits of queues", ["Queue", "Limit", "At most", "Now"], rows);
}

function reservations(info) {
  if (info.reservations.length > 0) {
    table("Room reserved on nodes", ["Node", "Application", "Queue", "Priority", "Room"],
        info.reservations.map(each => [each.node, link(each.application), each.queue,
          each.priority, amounts(each.resource)]));
  }
}

function waiting(info) {
  const total = info.waiting_total;
  if (info.waiting.length === 0) {
    add(page, "h2", "Applications that wait");
    add(page, "p", total.asks === 0 ? "None: every ask is served."
      : counted(total.asks, "ask") + ", not listed.");
    return;
  }
  table("Applications that wait", ["Application", "Name", "User", "Queue", "Priority",
      "Containers", "Each", "Reason"], info.waiting.flatMap(each => each.asks.map(ask => [
    link(each.application), each.name, each.user, each.queue, ask.priority, ask.count,
    amounts(ask.resource), (ask.reason || "none given")
      + (ask.until_ms === null ? "" : ", by the policy's rule until " + time(ask.until_ms))])));
  add(page, "p", counted(total.applications, "application") + " with "
      + counted(total.asks, "ask") + " for " + counted(total.containers, "container")
      + "; of each queue at most " + number(total.limit) + " asks are listed.");
}

function stalled(info) {
  if (info.bridge.stalled.length > 0) {
    table("Queues that their policy left waiting", ["Queue", "At", "First in, first out until",
        "Times", "What waited"], info.bridge.stalled.map(each => [each.queue, time(each.at_ms),
      time(each.until_ms), each.times, each.message]));
  }
}

/** A value of a report; its unit is only written for a percentage. */
function text(value, unit) {
  if (value === null || value === undefined) return "-";
  if (Array.isArray(value)) return value.map(each => text(each, unit)).join(", ") || "-";
  if (typeof value === "boolean") return value ? "yes" : "no";
  if (typeof value !== "number") return typeof value === "string" ? value : JSON.stringify(value);
  if (unit === "share") return percent(value);
  return Number.isInteger(value) ? number(value) : String(Number(value.toPrecision(4)));
}

function heading(figure) {
  return figure.label + (!figure.unit || figure.unit === "share" ? "" : ", " + figure.unit);
}

/** Queues with the same figures share one table; each table of a report follows. */
function reports(info) {
  const alike = new Map();
  for (const queue of info.queues) {
    for (const [path, report] of [[queue.path, queue.report],
        [queue.path + " from above", queue.report_from_above]]) {
      if (report === null || typeof report !== "object") continue;
      const figures = report.typed === 1 ? report.figures
        : Object.entries(report).map(([label, value]) => ({ label, value }));
      const headings = figures.map(heading);
      const key = JSON.stringify(headings);
      alike.set(key, (alike.get(key) || []).concat({ path, headings, figures,
        tables: report.typed === 1 ? report.tables || [] : [] }));
    }
  }
  if (alike.size > 0) add(page, "h2", "What policies report");
  for (const group of alike.values()) {
    const [{ path, headings, figures }] = group;
    const value = each => text(each.value, each.unit);
    if (group.length > 1 && headings.length > 0) {
      table("", ["Queue", ...headings],
          group.map(each => [each.path, ...each.figures.map(value)]));
    } else if (headings.length > 0) {
      table(path, ["Figure", "Value"], figures.map(each => [heading(each), value(each)]), "h3");
    }
    for (const each of group) {
      for (const inner of each.tables.filter(found => found.rows.length > 0)) {
        table(inner.label + " of " + each.path, inner.columns.map(heading), inner.rows.map(
            row => row.map((cell, index) => text(cell, inner.columns[index].unit))), "h3");
      }
    }
  }
}

async function draw() {
  try {
    const answer = await fetch("/ws/v1/cluster/scheduler", { credentials: "same-origin" });
    const read = await answer.json();
    if (!answer.ok) throw new Error(read.message);
    const info = read.scheduler.schedulerInfo.loomcard;
    page.textContent = "";
    for (const part of [tiles, stalled, queues, labels, limits, reservations, waiting, reports]) {
      part(info);
    }
  } catch (error) {
    add(page, "p", "The document /ws/v1/cluster/scheduler cannot be shown: " + error.message);
  }
}

draw();
