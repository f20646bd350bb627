/** A value of a statement. A `Buffer` goes as it is; an array is one value of an array type. */
export type Value = string | number | boolean | null | Buffer | readonly (string | number | boolean | null)[];

/** The types of elements of arrays that are sent in binary form. */
export type ElementType = 'text' | 'bytea' | 'bigint' | 'int' | 'boolean';

/** SQL with the name under which a connection keeps it prepared, or with none if it does not. */
export interface Statement {
  readonly name: string;
  readonly text: string;
  /** The element types of those values that are arrays, by their places. */
  readonly arrays: readonly (ElementType | undefined)[];
}

const arrayPattern = /\$(\d+)::(text|bytea|bigint|int|boolean)\[\]/g;

/** Makes a statement. Where it is given an array, the text says of which type: `$1::bigint[]`. */
export function statementOf(name: string, text: string): Statement {
  const arrays: (ElementType | undefined)[] = [];
  for (const [, place, type] of text.matchAll(arrayPattern)) arrays[Number(place) - 1] = type as ElementType;
  return { name, text, arrays };
}
