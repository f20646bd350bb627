import { listThreads, type ThreadsPage, type Timeline } from '@signalbox/client/operator';
import type { ApiContext } from './operation.ts';
import { searchTimeline, threadOfEntry } from './timeline.ts';

/** Threads that match a search. */
export interface FoundThreads extends ThreadsPage {
  /** The time from which on tools and outcomes were searched, in epoch milliseconds; absent if none is asked for. */
  searched_since?: number;
  callsMissing?: NonNullable<Timeline['callsMissing']>;
}

interface ThreadSearch {
  agent?: string | undefined;
  /** A part of the name of a tool that was called in the thread. */
  tool?: string | undefined;
  /** A part of how a message or a call of the thread ended. */
  outcome?: string | undefined;
  search?: string | undefined;
  cursor?: number | undefined;
  limit: number;
}

/** The threads that are read at a time, and at most, to find those with a tool or an outcome. */
const most = { page: 200, threads: 2000 };

/** Lists threads. Those with a tool or an outcome are the threads of what the timeline finds. */
export async function searchThreads(
  { client, orchestrator, now }: Pick<ApiContext, 'client' | 'orchestrator' | 'now'>,
  { tool, outcome, limit, ...query }: ThreadSearch,
): Promise<FoundThreads> {
  if (!tool && !outcome) return await listThreads(client, { ...query, limit });
  const { keeps, ...first } = await listThreads(client, { ...query, limit: most.page });
  if (!keeps) return first;
  const at = now();
  const found = await searchTimeline(client, orchestrator, { since: at - keeps.age_ms, tool, outcome }, at);
  const wanted = new Set(found.groups.flatMap(({ entries }) => entries.map(threadOfEntry)));
  let page: ThreadsPage = first;
  const threads = page.threads.filter(({ thread }) => wanted.has(thread));
  for (let read = most.page; page.cursor !== undefined && threads.length < limit && read < most.threads; ) {
    page = await listThreads(client, { ...query, cursor: page.cursor, limit: most.page });
    threads.push(...page.threads.filter(({ thread }) => wanted.has(thread)));
    read += most.page;
  }
  const missing = found.callsMissing && { callsMissing: found.callsMissing };
  const { cursor } = page;
  return { threads, keeps, searched_since: found.since, ...(cursor !== undefined && { cursor }), ...missing };
}
