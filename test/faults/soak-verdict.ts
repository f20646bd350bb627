import type { ProcessFacts } from './process-facts.ts';

/** One line of a soak's table. Sizes in MiB; `seconds` since its start. */
export interface SoakSample extends ProcessFacts {
  seconds: number;
  /** Calls and notes that have ended so far. */
  done: number;
  restarts: number;
  databaseMiB: number;
  journalMiB: number;
}

/** The state after a day of a month, when its garbage was collected. Sizes in MiB. */
export interface DaySample extends ProcessFacts {
  day: number;
  heapMiB: number;
  /** The tokens that operators see. */
  tokens: number;
  /** The kept dead letters. */
  dead: number;
  /** The files of the broker, but for its audit log. */
  dataMiB: number;
  auditMiB: number;
  journalMiB: number;
}

/** The verdict on one series: its typical values after the warm-up and at the end. */
export interface SoakJudgement {
  what: string;
  early: number;
  late: number;
  limit: string;
  flat: boolean;
}

const tolerance = 0.1;
/** The bytes by which the files may grow per call or note: settled messages keep their metadata for a day. */
const maxBytesPerMessage = 1_024;

/**
 * The first third is warm-up; the median of the second is compared with that of the last, so that a process that was
 * started again a moment ago moves nothing. Only growth counts as not flat: a restart may make memory less.
 */
export function judgeSoak(samples: readonly SoakSample[], expectedProcesses: number): SoakJudgement[] {
  const { early, late, level } = thirds(samples);
  const left = samples.at(-1)!.processes;
  return [
    level('memory (MiB)', ({ rssMiB }) => rssMiB),
    level('open handles', ({ handles }) => handles),
    {
      what: 'processes at the end',
      early: expectedProcesses,
      late: left,
      limit: 'as many as at first',
      flat: left === expectedProcesses,
    },
    growth('database (bytes per message)', early, late, ({ databaseMiB }) => databaseMiB),
    growth('journal (bytes per message)', early, late, ({ journalMiB }) => journalMiB),
  ];
}

/** Judges the days of a month in the same way: data that are kept for a time have reached their level in the first third of a month. */
export function judgeMonth(days: readonly DaySample[]): SoakJudgement[] {
  const { level } = thirds(days);
  return [
    level('heap (MiB)', ({ heapMiB }) => heapMiB),
    level('memory (MiB)', ({ rssMiB }) => rssMiB),
    level('open handles', ({ handles }) => handles),
    level('processes', ({ processes }) => processes),
    level('tokens', ({ tokens }) => tokens),
    level('dead letters', ({ dead }) => dead),
    level('files of the broker (MiB)', ({ dataMiB }) => dataMiB),
    level('audit log (MiB)', ({ auditMiB }) => auditMiB),
    level('journal (MiB)', ({ journalMiB }) => journalMiB),
  ];
}

/** Returns the second and the last third of samples, and what judges a series by their medians. */
function thirds<Sample>(samples: readonly Sample[]) {
  const third = Math.floor(samples.length / 3);
  const [early, late] = [samples.slice(third, 2 * third), samples.slice(2 * third)];
  const level = (what: string, read: (sample: Sample) => number): SoakJudgement => {
    const [before, after] = [median(early.map(read)), median(late.map(read))];
    const flat = after <= before * (1 + tolerance);
    return { what, early: before, late: after, limit: 'at most 10 % more', flat };
  };
  return { early, late, level };
}

function growth(
  what: string,
  early: readonly SoakSample[],
  late: readonly SoakSample[],
  read: (sample: SoakSample) => number,
): SoakJudgement {
  const perMessage = (samples: readonly SoakSample[]): number => {
    const [first, last] = [samples[0]!, samples.at(-1)!];
    return ((read(last) - read(first)) * 1024 * 1024) / Math.max(1, last.done - first.done);
  };
  const [before, after] = [perMessage(early), perMessage(late)];
  return {
    what,
    early: before,
    late: after,
    limit: `at most ${maxBytesPerMessage}`,
    flat: after <= maxBytesPerMessage,
  };
}

function median(numbers: readonly number[]): number {
  return numbers.toSorted((a, b) => a - b)[Math.floor(numbers.length / 2)] ?? 0;
}
