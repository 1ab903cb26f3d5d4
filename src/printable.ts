/**
 * What cannot be seen, or moves or turns the text around it: control and format characters, separators of lines and of
 * paragraphs, halves of characters, and what is drawn as nothing.
 */
const unseen = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}\p{Default_Ignorable_Code_Point}]/gu

/** Shows what cannot be seen as its code, so that text of others is one line that a terminal only prints. JSON stays JSON. */
export function printable(text: string): string {
  return text.replace(unseen, codeOf)
}

/** The same, but for tabs and ends of lines: for where they are space. */
export function printableText(text: string): string {
  return text.replace(unseen, char => (char === '\t' || char === '\n' ? char : codeOf(char)))
}

/** Writes a character as JSON can: by the units of UTF-16. */
export function codeOf(char: string): string {
  let code = ''
  for (let i = 0; i < char.length; i++) code += `\\u${char.charCodeAt(i).toString(16).padStart(4, '0')}`
  return code
}
