package org.loomcard.yarn.web;

import org.apache.hadoop.yarn.server.resourcemanager.webapp.RmView;
import org.apache.hadoop.yarn.webapp.SubView;

/**
 * The page {@code /cluster/scheduler}, in the ResourceManager's own frame. Named in
 * {@code yarn.http.rmwebapp.scheduler.page.class}.
 */
public final class LoomcardSchedulerPage extends RmView {
  private static final String[] STYLE = {
      // YARN's frame is a table, which grows with its content; its menu takes 205 px.
      ".lc {color: #222; font-size: 13px; line-height: 1.45; width: calc(100vw - 235px);"
          + " min-width: 40em; max-width: 120em}",
      ".lc h2 {font-size: 15px; margin: 1.4em 0 .4em 0}",
      ".lc .tiles {display: flex; flex-wrap: wrap; gap: 10px}",
      ".lc .tile {border: 1px solid #bbb; border-left: 6px solid #777; padding: 6px 14px;"
          + " min-width: 9em; max-width: 34em; background: #fff}",
      ".lc .tile b {display: block; font-size: 11px; font-weight: normal; color: #555}",
      ".lc .tile i {display: block; font-style: normal; font-size: 19px}",
      ".lc .tile span {display: block; font-size: 12px; color: #333; overflow-wrap: anywhere}",
      ".lc .up {border-left-color: #0072b2}",
      ".lc .starting {border-left-color: #e69f00}",
      ".lc .overdue, .lc .fallback, .lc .stopped {border-left-color: #d55e00; background: #fff1e8}",
      // As a block, a table that is too wide has its own scroll bar.
      ".lc table {border-collapse: collapse; display: block; width: max-content; max-width: 100%;"
          + " overflow-x: auto; margin-bottom: 1.2em}",
      ".lc th, .lc td {border: 1px solid #ccc; padding: 3px 5px; vertical-align: top;"
          + " background: #fff}",
      ".lc th {background: #eee; color: #222; text-align: left}",
      ".lc td.number {text-align: right}",
      ".lc td.amount {text-align: right; white-space: nowrap}",
      ".lc .bar {position: relative; width: 100px; height: 12px; background: #e4e4e4;"
          + " margin: 3px 0}",
      ".lc .used {position: absolute; left: 0; top: 0; height: 12px; background: #0072b2}",
      ".lc .pending {position: absolute; top: 0; height: 12px; background: #e69f00}",
      ".lc .mark {position: absolute; top: -2px; height: 16px; width: 2px; background: #222}",
      ".lc .small {font-size: 11px; color: #555; overflow-wrap: break-word; max-width: 18em}",
      ".lc .state {margin-left: 6px; padding: 0 5px; background: #d55e00; color: #fff;"
          + " font-size: 11px; border-radius: 3px}",
      ".lc h3 {font-size: 13px; font-weight: bold; margin: 1.2em 0 .3em 0}",
  };

  @Override
  protected void preHead(Page.HTML<__> html) {
    commonPreHead(html);
    setTitle("Loomcard");
  }

  @Override
  protected void postHead(Page.HTML<__> html) {
    html.style().$type("text/css").__((Object[]) STYLE).__();
  }

  @Override
  protected Class<? extends SubView> content() {
    return SchedulerBlock.class;
  }
}
