/** Characters that are invisible or move the text around them: control, format, separators, lone surrogates. */
const invisibleCharacters = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}\p{Default_Ignorable_Code_Point}]/gu

/** Escapes invisible characters, so that foreign text is one harmless line on a terminal. JSON stays valid JSON. */
export function printable(text: string): string {
  return text.replace(invisibleCharacters, escapeCharacter)
}

/** Escapes invisible characters except tabs and line ends. */
export function printableText(text: string): string {
  return text.replace(invisibleCharacters, char => (char === '\t' || char === '\n' ? char : escapeCharacter(char)))
}

/** Escapes a character as in JSON, by its UTF-16 units. */
export function escapeCharacter(char: string): string {
  let code = ''
  for (let i = 0; i < char.length; i++) code += `\\u${char.charCodeAt(i).toString(16).padStart(4, '0')}`
  return code
}
