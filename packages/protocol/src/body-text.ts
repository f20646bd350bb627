/** The text of a body, as people read it. */
export interface BodyText {
  text: string;
  /** False if the body is JSON that says more than this text. */
  isWhole: boolean;
}

/**
 * Returns the text of a body that is a text, or JSON with the text `text`; `undefined` for other JSON. `value` is the JSON of the body, or
 * the body itself if it is none.
 */
export function bodyTextOf(value: unknown): BodyText | undefined {
  if (typeof value === 'string') return { text: value, isWhole: true };
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined;
  const { text } = value as { text?: unknown };
  return typeof text === 'string' ? { text, isWhole: Object.keys(value).length === 1 } : undefined;
}
