/** How a gateway writes its errors: document 2 does not show it, and both are publicly known. */
export type GatewayErrorForm = 'json' | 'xml'

/** A gateway's error body, in the publicly known form of `fault`. Its texts hold no markup. */
export function writeGatewayError(
  form: GatewayErrorForm,
  status: number,
  fault: { readonly code: number; readonly message: string; readonly description: string },
): Response {
  if (form === 'json') return Response.json({ fault }, { status })
  const members = Object.entries(fault).map(([name, value]) => `<ams:${name}>${value}</ams:${name}>`)
  const body = `<ams:fault xmlns:ams="http://wso2.org/apimanager/security">${members.join('')}</ams:fault>`
  return new Response(body, { status, headers: { 'content-type': 'application/xml' } })
}
