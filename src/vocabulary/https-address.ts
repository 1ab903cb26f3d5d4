/** `https://`, a host, and only the characters that RFC 3986 allows. */
const secureUrl = /^https:\/\/[\w[][\w.~:/?#[\]@!$&'()*+,;=%-]*$/i

/** Parses an https address, or gives `undefined`. `URL` alone reads blanks, line breaks and backslashes otherwise. */
export function parseHttpsAddress(text: string): URL | undefined {
  return secureUrl.test(text) && !/^[^/]*\/\/[^/?#]*@/.test(text) ? (URL.parse(text) ?? undefined) : undefined
}

export function holdsCredentials(address: string): boolean {
  const url = URL.parse(address)
  return url !== null && (url.username !== '' || url.password !== '')
}
