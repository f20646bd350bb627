/**
 * Splits a text or a tool name into words in lower case: at everything that is not a letter or digit, and inside camelCase names
 * (`readHTTPPage`: read, http, page).
 */
export function wordsOf(text: string): string[] {
  return (
    text
      .replace(/(\p{Ll}|\p{N})(\p{Lu})/gu, '$1 $2')
      .replace(/(\p{Lu})(\p{Lu}\p{Ll})/gu, '$1 $2')
      .toLowerCase()
      .match(/[\p{L}\p{N}]+/gu) ?? []
  );
}
