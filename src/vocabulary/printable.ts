/**
 * What cannot be seen, or moves or turns the text around it: control and format characters, separators of lines and of
 * paragraphs, halves of characters, and what is drawn as nothing.
 */
const invisibleCharacters = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}\p{Default_Ignorable_Code_Point}]/gu

/**
 * Shows invisible characters as their codes, so that foreign text is one harmless line on a terminal. JSON stays JSON.
 */
export function printable(text: string): string {
  return text.replace(invisibleCharacters, escapeCharacter)
}

/** The same, but keeps tabs and line ends, for where they are white space. */
export function printableText(text: string): string {
  return text.replace(invisibleCharacters, char =>
    char === '\t' || char === '\n' ? char : escapeCharacter(char),
  )
}

/** Writes a character as JSON can: by the units of UTF-16. */
export function escapeCharacter(char: string): string {
  let code = ''
  for (let i = 0; i < char.length; i++) code += `\\u${char.charCodeAt(i).toString(16).padStart(4, '0')}`
  return code
}
