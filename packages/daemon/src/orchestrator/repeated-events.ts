type HostEvent = { event: string; [fact: string]: unknown };

const minuteMs = 60_000;
/** The most different events of one server in a minute that are passed on at once, in case their reasons differ each time. */
const maxNews = 8;

/** The events of one server, instance or host in the present minute. */
interface Minute {
  /** The events that were passed on since the server was last quiet for a minute. */
  told: Set<string>;
  /** The last event that was held back in this minute, and the number of all of them. */
  held: { last: HostEvent; count: number } | undefined;
}

/**
 * Passes on the events of servers. An event that a server repeats, such as one more failed start for the same reason, is held back: at the
 * end of each minute the last of those is passed on, with their number as `events`. `after` calls a function after so many milliseconds.
 */
export function withoutRepetitions(
  pass: (event: HostEvent) => void,
  repeatable: ReadonlySet<string>,
  after: (ms: number, run: () => void) => void = (ms, run) => void setTimeout(run, ms).unref(),
): (event: HostEvent) => void {
  const servers = new Map<string, Minute>();
  const endMinute = (key: string, minute: Minute): void => {
    const { held } = minute;
    if (!held) return void servers.delete(key);
    minute.held = undefined;
    pass({ ...held.last, events: held.count });
    after(minuteMs, () => endMinute(key, minute));
  };
  return (event) => {
    if (!repeatable.has(event.event)) return pass(event);
    const key = JSON.stringify([event.server, event.instance, event.host]);
    let minute = servers.get(key);
    if (!minute) {
      const begun: Minute = { told: new Set(), held: undefined };
      minute = begun;
      servers.set(key, begun);
      after(minuteMs, () => endMinute(key, begun));
    }
    const news = JSON.stringify([event.event, event.reason]);
    if (minute.told.has(news) || minute.told.size === maxNews) {
      minute.held = { last: event, count: (minute.held?.count ?? 0) + 1 };
      return;
    }
    minute.told.add(news);
    pass(event);
  };
}
