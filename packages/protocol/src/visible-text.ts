/**
 * Matches characters that show nothing or change how others are shown: control and format characters (among them changes of
 * direction, zero width and tags) and separators of lines. Line ends, tabs and what {@link joining} matches are left out.
 */
const unseen = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/u;

/** Matches unseen characters where writing needs them: inside emoji, and in scripts that join their letters. */
const joining = [
  /(?<=\p{Extended_Pictographic})\uFE0F|(?<=[\d#*])\uFE0F(?=\u20E3)/u,
  /(?<=\p{Extended_Pictographic}(?:\p{Emoji_Modifier}|\uFE0F)?)\u200D(?=\p{Extended_Pictographic})/u,
  /(?<=[\p{sc=Arab}\p{sc=Syrc}\p{sc=Deva}\p{sc=Beng}\p{sc=Guru}\p{sc=Gujr}\p{sc=Orya}])[\u200C\u200D](?=\p{L})/u,
  /(?<=[\p{sc=Taml}\p{sc=Telu}\p{sc=Knda}\p{sc=Mlym}\p{sc=Sinh}])[\u200C\u200D](?=\p{L})/u,
];

const kept = [/\r\n|[\n\t]/u, ...joining].map(({ source }) => source).join('|');
const replaced = new RegExp(`(?=${unseen.source})(?!${kept}).`, 'gsu');

/** Matches texts of printable ASCII, which most texts are: this test is many times faster than {@link replaced}. */
const plain = /^[ -~\n\t]*$/;

/** Every character that some reader treats as the end of a line. */
const lineEnd = /\r\n|[\n\r\v\f\u0085\u2028\u2029]/;

/**
 * Replaces invisible characters by escapes such as `\x1b`. Line ends and tabs stay. A text of an agent or a tool must not move the cursor,
 * change colours, overwrite other text on the screen, or hold words that only a model reads.
 */
export function visible(text: string): string {
  return plain.test(text) ? text : text.replace(replaced, escaped);
}

/** Does what {@link visible} does, and replaces line ends too: the text stays on one line. */
export function visibleLine(text: string): string {
  return visible(text).replace(/[\r\n]/g, escaped);
}

/**
 * Quotes a text: each of its lines begins with `| `, so that none can be mistaken for a line of ours. Invisible characters are written as
 * escapes.
 */
export function quotedLines(text: string): string[] {
  return text.split(lineEnd).map((line) => `| ${visible(line)}`);
}

function escaped(character: string): string {
  const code = character.codePointAt(0)!;
  if (code < 0x100) return `\\x${code.toString(16).padStart(2, '0')}`;
  return code > 0xffff ? `\\u{${code.toString(16)}}` : `\\u${code.toString(16).padStart(4, '0')}`;
}
