/** The rows of a long list that are shown, from `first` to before `end`. */
export interface ShownRows {
  first: number;
  end: number;
}

/** The number of rows beyond the edges that are shown too, so that scrolling shows no gaps. */
const overscan = 6;
/** The range of shown rows changes in steps of this many, so that most scrolling draws nothing anew. */
const step = 6;

/** Decides which rows of a list are shown: those in sight, and some beyond. Sizes in pixels. */
export function windowOf(
  count: number,
  { rowHeight, scrollTop, height }: { rowHeight: number; scrollTop: number; height: number },
): ShownRows {
  const first = Math.max(0, step * Math.floor((scrollTop / rowHeight - overscan) / step));
  const end = Math.min(count, step * Math.ceil(((scrollTop + height) / rowHeight + overscan) / step));
  return { first: Math.min(first, Math.max(0, end - 1)), end };
}
