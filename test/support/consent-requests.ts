/** Whether a request reads a consent in full. */
export const isDetail = ({ method, url }: Request) => method === 'GET' && /consentimentos\/\d+\/\w+$/.test(url)

/** Whether a request reads a list of consents, of all controllers or of one. */
export const isList = ({ method, url }: Request) => method === 'GET' && /consentimentos\/\d+(\?|$)/.test(url)

export const isChange = ({ method }: Pick<Request, 'method'>) => method === 'PUT'
