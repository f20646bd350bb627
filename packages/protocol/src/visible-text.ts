/**
 * A text with its control characters and changes of direction written out (`\x1b`), line ends and tabs kept: what an
 * agent or a tool wrote must not move the cursor, colour or rewrite what stands on the screen.
 */
export function visible(text: string): string {
  return text.replace(/(?!\r\n|[\n\t])[\p{Cc}\p{Bidi_Control}]/gu, (character) => {
    const code = character.charCodeAt(0);
    return code < 0x100 ? `\\x${code.toString(16).padStart(2, '0')}` : `\\u${code.toString(16)}`;
  });
}
