/** Tells whether two schemas accept the same values. */
export type SameMeaning = (one: Record<string, unknown>, other: Record<string, unknown>) => boolean;

/** The form in which a client shows a tool, if it does; `why` completes "the client does so, because". */
export interface Unshown {
  /** `changed`: it shows a schema that takes other arguments. */
  how: 'left out' | 'changed';
  why: string;
}

/** A schema that a client shows as the original is meant, and what it does not show all the same. */
export interface FoundForm {
  form?: Record<string, unknown>;
  unshown?: Unshown;
}
