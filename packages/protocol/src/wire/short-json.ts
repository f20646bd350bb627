const maxLength = 2048;

/**
 * Whether a value, as JSON, has at most 2048 characters. What nests too deep to be written as JSON is too long as well;
 * without this, one frame would overflow the stack.
 */
export function isShortJson(value: unknown): boolean {
  try {
    return value !== undefined && JSON.stringify(value).length <= maxLength;
  } catch {
    return false;
  }
}
