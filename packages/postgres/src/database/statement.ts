/** A value of a statement. A `Buffer` is sent unchanged; an array is one value of an array type. */
export type Value = string | number | boolean | null | Buffer | readonly (string | number | boolean | null)[];

/** The types of elements of arrays that are sent in binary form. */
export type ElementType = 'text' | 'bytea' | 'bigint' | 'int' | 'boolean';

/** SQL, with the name under which a connection keeps it prepared, if it does. */
export interface Statement {
  readonly name: string;
  readonly text: string;
  /** The element types of those values that are arrays, by their places. */
  readonly arrays: readonly (ElementType | undefined)[];
}

const arrayPattern = /\$(\d+)::(text|bytea|bigint|int|boolean)\[\]/g;

/** Makes a statement. For each array the text must name the type: `$1::bigint[]`. */
export function statementOf(name: string, text: string): Statement {
  const arrays: (ElementType | undefined)[] = [];
  for (const [, place, type] of text.matchAll(arrayPattern)) arrays[Number(place) - 1] = type as ElementType;
  return { name, text, arrays };
}
