/**
 * Replaces control characters and changes of direction by escapes such as `\x1b`. Line ends and tabs stay. A text of an agent or a
 * tool must not move the cursor, change colours or overwrite other text on the screen.
 */
export function visible(text: string): string {
  return text.replace(/(?!\r\n|[\n\t])[\p{Cc}\p{Bidi_Control}]/gu, (character) => {
    const code = character.charCodeAt(0);
    return code < 0x100 ? `\\x${code.toString(16).padStart(2, '0')}` : `\\u${code.toString(16)}`;
  });
}
