import { stateMeanings } from './state-meanings.ts'

/** The Brazilian Portuguese of what the library says in English, by the folder that says it. */
const saidMessages: Readonly<Record<string, string>> = {
  // api
  'Cannot call the {}: it is not configured': 'Não é possível chamar {}: não há configuração para esse serviço',
  'Give openAverba the option {}': 'Informe a openAverba a opção {}',
  'Cannot use "{}": it is not an instant': 'Não é possível usar "{}": não é um instante',
  'Give it as 2026-11-20T12:00:00.000Z': 'Informe-o como 2026-11-20T12:00:00.000Z',
  'Cannot use "{}": it is not a whole number of milliseconds':
    'Não é possível usar "{}": não é um número inteiro de milissegundos',
  'Cannot use "{}": it is not a position of the log': 'Não é possível usar "{}": não é uma posição do registro',
  'Positions are whole numbers, counted from 1': 'Posições são números inteiros, contados a partir de 1',
  'Cannot use the {}: it is unknown': 'Não é possível usar {}: o valor é desconhecido',
  'Use one of {}': 'Use um destes: {}',
  "Cannot use the actor's kind: it is not one of subject, person, system":
    'Não é possível usar o kind do actor: não é subject, person nem system',
  'Cannot write the report: its format or its language is unknown':
    'Não é possível escrever o relatório: o formato ou o idioma é desconhecido',
  'Formats are json and html, languages pt-BR and en': 'Os formatos são json e html, os idiomas pt-BR e en',
  'Cannot find the {}: the event is not about a {}': 'Não é possível encontrar {}: o evento não é sobre {}',
  'Pass an event of log.follow, log.read or on whose stream begins with "{}-"':
    'Passe um evento de log.follow, log.read ou on cujo fluxo comece com "{}-"',
  'Cannot use the {}: it must be a text of 1 to {} characters, not blank':
    'Não é possível usar {}: tem de ser um texto de 1 a {} caracteres, não em branco',
  'Cannot read consents that often: syncEveryMs is under a minute':
    'Não é possível ler consentimentos com tanta frequência: syncEveryMs é menor que um minuto',
  'Give a whole number of milliseconds, 60000 or more': 'Informe um número inteiro de milissegundos, 60000 ou mais',
  'Cannot show a view: neither a position nor an instant is given':
    'Não é possível mostrar uma visão: falta uma posição ou um instante',
  'Give { position } or { at }; for the current rows use views':
    'Informe { position } ou { at }; para as linhas atuais use views',
  'Cannot use "{}": it is in the future': 'Não é possível usar "{}": está no futuro',
  'its evento must have 1 to {} characters that a header can carry':
    'o seu evento tem de ter de 1 a {} caracteres que um cabeçalho possa levar',
  'it is declared twice': 'há mais de uma declaração',
  'Cannot subscribe: an {} contains what looks like a CPF': 'Não é possível inscrever: {} contém o que parece um CPF',
  'Use another name or path in subscriptions or receiver.publicUrl: it is stored in clear for ever':
    'Use outro nome ou caminho em subscriptions ou receiver.publicUrl: fica guardado em claro para sempre',
  'its endpoint is over {} characters': 'o seu endpoint tem mais de {} caracteres',
  'its endpoint contains a user name or a password': 'o seu endpoint contém um nome de usuário ou uma senha',
  'its endpoint must be an https address': 'o seu endpoint tem de ser um endereço https',
  'its endpoint must be on port 443': 'o seu endpoint tem de estar na porta 443',
  'Cannot subscribe to "{}": {}': 'Não é possível fazer a inscrição em "{}": {}',
  'Correct the options subscriptions or receiver.publicUrl': 'Corrija as opções subscriptions ou receiver.publicUrl',
  '{} parked, {} with an unknown outcome': 'suspensas: {}, com desfecho indefinido: {}',
  '{} due calls belong to another address or service (first: {})':
    '{} chamadas vencidas são de outro endereço ou serviço (a primeira: {})',
  'run a process configured for it, name the former address in knownAs if the service has moved, or park them with effects.park':
    'execute um processo configurado para ele, informe o endereço anterior em knownAs se o serviço mudou de lugar, ou suspenda-as com effects.park',
  '{} parked, {} to be retried': 'suspensas: {}, por tentar de novo: {}',
  'it is not an object': 'não é um objeto',
  'it has another form': 'tem outra forma',
  'it is missing, empty, or not a text': 'falta, não tem conteúdo ou não é um texto',
  'Check where it comes from: an environment variable may be unset':
    'Confira de onde vem: talvez falte uma variável de ambiente',
  'it contains a user name or a password': 'contém um nome de usuário ou uma senha',
  'it is not an https address': 'não é um endereço https',
  'it contains ? or #, and paths are appended to it': 'contém ? ou #, e caminhos são acrescentados ao fim',
  'it ends with /consentimento, which averba appends': 'termina com /consentimento, que o averba acrescenta',
  'it is not PEM text': 'não é um texto PEM',
  'it is not a whole number{}': 'não é um número inteiro{}',
  'it is not a list of {}': 'não é uma lista de {}',
  'Use any of {}': 'Use um ou mais destes: {}',
  'it is not a function': 'não é uma função',
  'it is not an object with {}': 'não é um objeto com {}',
  'it is not until-settled or { days }': 'não é until-settled nem { days }',
  'it is not declined, deferred or unknown': 'não é declined, deferred nem unknown',
  'it is no address of http or https': 'não é um endereço http ou https',
  'it is not a list': 'não é uma lista',
  'it is not above 0': 'não é maior que 0',
  'it is missing': 'falta',
  'it is not a CNPJ': 'não é um CNPJ',
  'it is not a text': 'não é um texto',
  'it is not a list of addresses': 'não é uma lista de endereços',
  'it contains a slash': 'contém uma barra',
  'it is not a header name': 'não é um nome de cabeçalho',
  'it is a reserved header': 'é um cabeçalho reservado',
  'it is not announce or plan': 'não é announce nem plan',
  'its certificate is missing': 'falta o seu certificado',
  'it is not a port number': 'não é um número de porta',
  'it is not { name, contact }': 'não é { name, contact }',
  'it is not true or false': 'não é true nem false',
  'it is missing, and so is tokenService': 'falta, e tokenService também',
  'Cannot use {}: {}': 'Não é possível usar {}: {}',
  'Give the path of a SQLite file, :memory:, or an address that begins with postgres:':
    'Informe o caminho de um arquivo SQLite, :memory:, ou um endereço que comece com postgres:',
  'it is an address of something else': 'é o endereço de outra coisa',
  'it is not a path, or an object with name, read and replace': 'não é um caminho nem objeto com name, read, replace',
  'Give { cpf }, or the ref of consents.enrol as { subject }': 'Dê { cpf } ou a ref de consents.enrol como { subject }',
  'Cannot find the data subject: CPF and ref are missing': 'Não é possível encontrar o titular: faltam o CPF e a ref',
  'Cannot find the data subject: both CPF and ref are given':
    'Não é possível encontrar o titular: foram informados o CPF e a ref',
  'Give one of them, preferably the ref': 'Informe um dos dois, de preferência a ref',
  'Cannot find the data subject: this {} is not enrolled':
    'Não é possível encontrar o titular: nenhum cadastro tem este valor de {}',
  'Call consents.enrol first{}': 'Chame antes consents.enrol{}',
  'Cannot find the data subject: they were erased': 'Não é possível encontrar o titular: seus dados foram eliminados',
  'See subjects.receipt and subjects.report for what was destroyed and what is left':
    'Veja em subjects.receipt e subjects.report o que foi destruído e o que resta',
  'Cannot do this with a log in memory: it has no file':
    'Não é possível fazer isto com um registro em memória: ele não tem arquivo',
  'they are longer than {} bytes': 'são mais longos que {} bytes',
  'they are not JSON': 'não são JSON',
  'Cannot record reason and evidence: {}': 'Não é possível registrar motivo e evidência: {}',
  'Cannot {} the consent: no reading has shown it': 'Não é possível aplicar {} ao consentimento: nunca foi lido',
  'Call consents.sync first': 'Execute antes consents.sync',
  'Cannot withdraw the end: the reason is missing': 'Não é possível desistir do fim: falta o motivo',
  'Give { reason }': 'Informe { reason }',
  'raise requestsPerSecond or syncEveryMs': 'aumente requestsPerSecond ou syncEveryMs',
  'see effects.list(), subject.readDeclined and subject.synced in the log, and check that run or settle works':
    'veja effects.list(), e subject.readDeclined e subject.synced no registro, e confira se run ou settle funciona',
  'denial or revocation has': 'negação ou revogação',
  'denials or revocations have': 'negações ou revogações',
  'for {} without an open request decide by consents.revoke, consents.deny or consents.withdrawEnd':
    'para as {} sem pedido em aberto, decida com consents.revoke, consents.deny ou consents.withdrawEnd',
  '{} {} not been made yet, and nothing is used meanwhile: see effects.list(){}':
    '{} {} por fazer, e nada é usado enquanto isso: veja effects.list(){}',
  '{} data subjects take {} requests a second, and {} are allowed: readings take {} times the configured interval':
    '{} titulares exigem {} pedidos por segundo, e são permitidos {}: as leituras levam {} vezes o intervalo configurado',
  '{} of {} data subjects have not been read for over three intervals':
    '{} de {} titulares não são lidos há mais de três intervalos',
  '{} data subjects can be read as often as configured': '{} titulares podem ser lidos com a frequência configurada',
  'denials or revocations are not made yet': 'negações ou revogações ainda não foram feitas',
  'the keyring could not be written': 'não foi possível gravar o chaveiro',
  'consents cannot be read as often as configured': 'consentimentos não podem ser lidos com a frequência configurada',
  'Cannot return to this address after the login: it is not listed':
    'Não é possível voltar a este endereço depois do login: não está na lista',
  'Add it to consentService.redirectUrls': 'Acrescente-o a consentService.redirectUrls',
  'This consent was never read: call consents.sync, and check the id with consents.list':
    'Este consentimento nunca foi lido: execute consents.sync, e confira o identificador com consents.list',
  'Cannot use the consent: {}': 'Não é possível usar o consentimento: {}',
  'Do not use the data. The refusal is recorded': 'Não use os dados. A recusa está registrada',
  'Cannot use the consent: purpose and legal basis are missing':
    'Não é possível usar o consentimento: faltam a finalidade e a base legal',
  'Give basis: { purpose, legalBasis } here or in the options of openAverba':
    'Informe basis: { purpose, legalBasis } aqui ou nas opções de openAverba',
  'it is not valid before {}': 'não é válido antes de {}',
  'it ends in {} days': 'vence em {} dias',
  'it ends in {} days: renew it and replace it at its source': 'vence em {} dias: renove-o e substitua-o na origem',
  'it cannot be checked': 'não é possível conferir',
  'the options are valid, and the secrets can be read': 'as opções são válidas, e os segredos podem ser lidos',
  'consumer key': 'a chave do consumidor',
  'consumer secret': 'o segredo do consumidor',
  'bearer token': 'o token de acesso',
  'Cannot use the {}: it is empty': 'Não é possível usar {}: não tem conteúdo',
  '{} is missing: restore it, because the log cannot be opened without it':
    'falta {}: restaure-o, pois sem ele o registro não pode ser aberto',
  'no erasure was lost': 'nenhuma eliminação se perdeu',
  'Cannot use the keys: their service failed ({})': 'Não é possível usar as chaves: o serviço delas falhou ({})',
  'its service asked for a pause': 'o seu serviço pediu uma pausa',
  'no process makes its calls': 'nenhum processo faz as suas chamadas',
  'an erasure is not complete for over a day: see effects.get("{}"): {}':
    'uma eliminação está incompleta há mais de um dia: veja effects.get("{}"): {}',
  'it is in memory and ends with the process': 'está em memória e termina com o processo',
  'the server is reached, and has no log in this schema yet: opening it creates it':
    'o servidor responde, e ainda não tem registro neste esquema: a abertura o cria',
  'its file is missing but its keyring exists: restore a backup':
    'o arquivo não existe, mas o seu chaveiro sim: restaure uma cópia',
  'it does not exist yet: opening it creates it': 'ainda não existe: a abertura o cria',
  'no open call waits after an answer that was not understood':
    'nenhuma chamada em aberto espera depois de uma resposta que não foi compreendida',
  'its text is not kept here': 'o texto não é guardado aqui',
  'the last answer that was not understood, of {}: HTTP {}, {}: {}':
    'a última resposta que não foi compreendida, de {}: HTTP {}, {}: {}',
  'no delivery of an active subscription has succeeded, as the portal was last listed':
    'nenhuma entrega de uma inscrição ativa teve êxito, segundo a última lista do portal',
  'the portal last delivered {}': 'últimas entregas do portal: {}',
  'it is in memory': 'está em memória',
  'this user cannot read and write "{}", or it does not exist ({})':
    'este usuário não pode ler e gravar "{}", ou o caminho não existe ({})',
  'this user can write the file and its folder': 'este usuário pode gravar o arquivo e a sua pasta',
  'it agrees with the services {}': 'concorda com os serviços {}',
  'ahead of': 'à frente de',
  'set it by NTP': 'acerte-o por NTP',
  'the others agree: report it to that service': 'os outros concordam: avise o responsável por esse serviço',
  'it may have been done: the log was restored since, and does not know':
    'talvez tenha sido feita: o registro foi restaurado desde então, e não o sabe',
  'it may have been done and is not repeated automatically: a person has to decide':
    'talvez tenha sido feita, e não é repetida automaticamente: uma pessoa tem de decidir',
  'it is under way': 'está em andamento',
  'it has ended': 'já terminou',
  'it is already parked': 'já está suspensa',
  'it destroys keys at its time, and is part of an erasure': 'destrói chaves na sua hora, e é parte de uma eliminação',
  'it will be sent automatically': 'será enviada automaticamente',
  'it may have been done: a pending reading will show it': 'talvez tenha sido feita: uma leitura pendente o mostrará',
  'Give an id of effects.list, or the effect of an outcome':
    'Informe um identificador de effects.list, ou o effect de um desfecho',
  'Cannot {} the call: no call has this id': 'Não é possível aplicar {} à chamada: nenhuma tem este identificador',
  'its service is not configured in this process': 'o seu serviço não está configurado neste processo',
  'Cannot use the keys: their service did not answer in 10 seconds':
    'Não é possível usar as chaves: o serviço delas não respondeu em 10 segundos',
  'Cannot change the keyring "{}": it was not replaced': 'Não é possível mudar o chaveiro "{}": não foi substituído',
  'Let `replace` return true when it has replaced the keyring, and false when another change was faster':
    'Deixe `replace` devolver true quando substituiu o chaveiro, e false quando outra mudança foi mais rápida',
  'Cannot use the keys: they do not open what they wrapped':
    'Não é possível usar as chaves: elas não abrem o que embrulharam',
  'Look at wrap and unwrap of keys: an error of their service may have been taken for its answer':
    'Veja wrap e unwrap de keys: um erro do serviço delas pode ter sido tomado pela resposta',
  'It is another root key, or its service failed: see the cause of this error':
    'É outra chave raiz, ou o serviço dela falhou: veja a causa deste erro',
  'Cannot take the value: this is a promise': 'Não é possível obter o valor: isto é uma promessa',
  'Await it first: valueOf(await promise)': 'Espere-a antes: valueOf(await promise)',
  'Cannot use the signal: it is no AbortSignal': 'Não é possível usar o sinal: não é um AbortSignal',
  'Give the signal of an AbortController: { signal: controller.signal }':
    'Dê o sinal de um AbortController: { signal: controller.signal }',
  'See log.followers() and the check "followers" of health':
    'Veja log.followers() e a verificação "followers" de health',
  'Cannot remove "{}": no follower of this name has waited for a process for a day':
    'Não é possível remover "{}": nenhum seguidor deste nome espera por um processo há um dia',
  'no process has run {} for a day: run it, or use log.unfollow':
    'nenhum processo executa {} há um dia: execute-o, ou use log.unfollow',
  'Cannot mark an item as done: the log is in a file':
    'Não é possível marcar um item como feito: o registro está em um arquivo',
  'Keep the ids of events that you have handled in a table of your own, in the same transaction':
    'Guarde os identificadores dos eventos já tratados em uma tabela sua, na mesma transação',
  'Cannot use "types": it is not a list of event types': 'Não é possível usar "types": não é lista de tipos de eventos',
  "Give it as ['consent.revoked']": "Informe-a como ['consent.revoked']",
  'Cannot use "fromVersion": it is not a whole number from 1, or there is no stream':
    'Não é possível usar "fromVersion": não é um número inteiro a partir de 1, ou falta o fluxo',
  "Give it with its stream: log.read({ stream: 'consent-…', fromVersion: 3 })":
    "Informe-a com o seu fluxo: log.read({ stream: 'consent-…', fromVersion: 3 })",
  'Cannot read events: the kind of streams is unknown': 'Não é possível ler eventos: espécie de fluxos desconhecida',
  'Cannot read events: a type is unknown': 'Não é possível ler eventos: um tipo é desconhecido',
  'averba log prints the types that there are, such as consent.revoked. The type Events has all':
    'averba log mostra os tipos que há, como consent.revoked. O tipo Events tem todos',
  'It is one of: {}': 'As opções são: {}',
  'it takes no new work: {}: set both by NTP': 'não aceita trabalho novo: {}: acerte ambos os relógios por NTP',
  '{} can listen': '{} pode escutar',
  '{} cannot listen ({}): give a host of this machine and a free port':
    '{} não pode escutar ({}): informe um host desta máquina e uma porta livre',
  '{} has the port of run': '{} tem a porta de run',
  '{} is in use: by averba run, or by another program': '{} está em uso: por averba run, ou por outro programa',
  '{} may not be opened by this user: {}': '{} não pode ser aberta por este usuário: {}',
  'the process needs a capability such as CAP_NET_BIND_SERVICE, or a proxy in front':
    'o processo precisa de uma capability como CAP_NET_BIND_SERVICE, ou de um proxy na frente',
  'it can be written': 'pode ser gravado',
  'no event is ahead of the clock': 'nenhum evento está à frente do relógio',
  'events recorded until then get that time, and retention counts its days from it':
    'eventos registrados até lá recebem esse horário, e a conservação conta os seus dias a partir dele',
  'the last event is of {}, ahead of the clock: {}': 'o último evento é de {}, à frente do relógio: {}',
  'all views run': 'todas as visões funcionam',
  '{} has stopped: {}': '{} parou: {}',
  '{} cannot continue: {}': '{} não pode continuar: {}',
  '{} parked: use log.retry or log.skip': 'seguidores suspensos: {}; use log.retry ou log.skip',
  'in another process: {}': 'em outro processo: {}',
  'no follower is parked{}': 'nenhum seguidor está suspenso{}',
  'Cannot show the stream: it {}': 'Não é possível mostrar o fluxo: ele {}',
  'Give the stream of an event, such as consent-…: averba log shows them':
    'Informe o fluxo de um evento, como consent-…: averba log os mostra',
  'Cannot handle "{}" as "{}": it has a slash': 'Não é possível tratar "{}" como "{}": o nome contém uma barra',
  'Use a name without a slash, such as erp-pedidos': 'Use um nome sem barra, como erp-pedidos',
  'Cannot handle "{}": the handler is missing': 'Não é possível tratar "{}": falta o tratador',
  "Give an event, a name and a function: handle('dimp-situacao-import', 'mine', async notification => ...)":
    "Informe um evento, um nome e uma função: handle('dimp-situacao-import', 'mine', async notification => ...)",
  'Cannot find the notification "{}": it does not exist': 'Não é possível encontrar a notificação "{}": não existe',
  'See notifications.list for all of them, each with its id':
    'Veja todas em notifications.list, cada uma com o seu identificador',
  'Cannot replay "{}": its body was destroyed': 'Não é possível tratar "{}" de novo: o conteúdo foi destruído',
  'Retention or the erasure of its person destroyed it; the log has its events':
    'Foi destruído por um prazo de conservação ou pela eliminação da sua pessoa; o registro tem os eventos',
  'Cannot replay: neither an id nor `failed: true` was given':
    'Não é possível tratar de novo: não foi informado um identificador nem `failed: true`',
  'a notification was not stored: too much was received that shows no secret':
    'uma notificação não foi guardada: chegou demais sem mostrar um segredo',
  'a notification was refused: {}': 'uma notificação foi recusada: {}',
  'a notification was not stored: answered 503': 'uma notificação não foi guardada: respondida com 503',
  'a notification reached the receiver incomplete': 'uma notificação chegou incompleta ao receptor',
  'compare with the portal by subscriptions.plan()': 'compare com o portal por subscriptions.plan()',
  'check receiver.trustedProxies and receiver.sources, and see the log lines':
    'confira receiver.trustedProxies e receiver.sources, e veja as linhas de log',
  'check what is in front of the receiver': 'confira o que está na frente do receptor',
  'check what the portal sends, or raise receiver.bodyBytesMax':
    'confira o que o portal envia, ou aumente receiver.bodyBytesMax',
  'give the subscription a chaveSecreta, or raise receiver.unprovenBytesPerHourMax':
    'dê à inscrição uma chaveSecreta, ou aumente receiver.unprovenBytesPerHourMax',
  'pass { remoteAddress } to receiver.fetch': 'passe { remoteAddress } a receiver.fetch',
  'put the receiver before any body parser': 'ponha o receptor antes de qualquer leitor do corpo (body parser)',
  'no declared event was refused since the last accepted notification':
    'nenhum evento declarado foi recusado desde a última notificação aceita',
  'refused since the last accepted notification: {}: {}': 'recusas desde a última notificação aceita: {}: {}',
  'Cannot prove the consent: no reading has shown it': 'Não é possível provar o consentimento: nunca foi lido',
  'Cannot write the report: the period has more than {} operations':
    'Não é possível escrever o relatório: o período tem mais de {} operações',
  'End the period at {}, or use audit.processing, which has no limit':
    'Termine o período em {}, ou use audit.processing, que não tem limite',
  'Cannot read the period: it ends when it begins, or before':
    'Não é possível ler o período: termina quando começa, ou antes',
  'Its end is not included: a day ends when the next one begins':
    'O fim não é incluído: um dia termina quando começa o seguinte',
  'Cannot find the data subject: no one is enrolled under this ref':
    'Não é possível encontrar o titular: ninguém está cadastrado com esta ref',
  'Cannot erase: {} not been made at the service, and nobody would ask for it':
    'Não é possível eliminar: {} por fazer no serviço, e ninguém mais pediria isso',
  'Wait until it is made, see the check consents in health, or erase with givesUpEnds':
    'Espere até que seja feito, veja a verificação consents em health, ou elimine com givesUpEnds',
  'Cannot erase: an earlier erasure destroyed some of what is to be kept':
    'Não é possível eliminar: uma eliminação anterior destruiu parte do que se quer conservar',
  'Keep all, some or none of what it kept: {}': 'Conserve tudo, parte ou nada do que ela conservou: {}',
  'remove schedules: false here or in another process on this log':
    'retire schedules: false aqui ou em outro processo deste registro',
  'Cannot reveal: nothing is sealed, or the actor is missing': 'Não é possível revelar: nada lacrado, ou falta o actor',
  'plan and apply; until then the former secret is accepted': 'faça e aplique o plano; até lá o segredo anterior vale',
  'the secrets of {} have changed at their source: {}': 'os segredos de {} mudaram na origem: {}',
  'no problem is known': 'nenhum problema conhecido',
  'form: its row cannot be read': 'forma: a sua linha não pode ser lida',
  'failure records': 'registros de falha',
  'the portal will soon delete a subscription, since no delivery succeeds':
    'o portal vai excluir em breve uma inscrição, pois nenhuma entrega tem êxito',
  'the portal has deleted a declared subscription': 'o portal excluiu uma inscrição declarada',
  'a declared subscription is not at the portal': 'uma inscrição declarada não está no portal',
  'a subscription at the portal differs from its declaration': 'uma inscrição no portal difere da sua declaração',
  'the failure records of a day cannot be read: what failed then is not recovered':
    'os registros de falhas de um dia não podem ser lidos: o que falhou nele não é recuperado',
  'the failure records of {} cannot be read, and the portal keeps them for thirty days: look at them there, and see effects.list() for why':
    'os registros de falhas de {} não podem ser lidos, e o portal os guarda por trinta dias: examine-os lá, e veja o motivo em effects.list()',
  'the portal was not read for over two days: the state of the subscriptions is unknown':
    'o portal não foi lido há mais de dois dias: a situação das inscrições é desconhecida',
  "the portal's {} were not read for {} days: see effects.list() for why":
    '{} do portal sem leitura há {} dias: veja o motivo em effects.list()',
  'failure records cannot be read or have no content: their notifications are not recovered':
    'há registros de falha ilegíveis ou sem conteúdo: as suas notificações não são recuperadas',
  'their notifications are not recovered: look at them in the portal':
    'as suas notificações não são recuperadas: veja-as no portal',
  'an unknown event': 'um evento desconhecido',
  'its {} must have 1 to {} printable ASCII characters, without spaces at the ends':
    'o campo {} tem de ter de 1 a {} caracteres ASCII imprimíveis, sem espaços nas pontas',
  'Make one with: openssl rand -base64 32': 'Faça um com: openssl rand -base64 32',
  'Cannot derive secrets: receiver.secretFrom must have {} characters or more':
    'Não é possível derivar segredos: receiver.secretFrom tem de ter {} caracteres ou mais',
  'its row at the portal cannot be read': 'a sua linha no portal não pode ser lida',
  'it is no longer declared': 'já não é declarada',
  'it is not ours': 'não é nossa',
  'unreadable {} (look at its row in the portal)': 'ilegível {} (veja a linha no portal)',
  'without an id': 'sem identificador',
  'the portal deleted it, and recreate is announce': 'o portal a excluiu, e recreate é announce',
  'the portal does not have it': 'o portal não a tem',
  'the portal has the same one': 'o portal tem uma igual',
  'a foreign subscription has the event': 'uma inscrição alheia tem o evento',
  'it is as declared': 'está como declarada',
  'Cannot use portal.baseUrl: this log belongs to the portal at "{}"':
    'Não é possível usar portal.baseUrl: este registro é do portal em "{}"',
  'Use a separate log for another portal or environment. If the same portal has moved, give the former address as portal.knownAs':
    'Use um registro separado para outro portal ou ambiente. Se o mesmo portal mudou de endereço, informe o anterior em portal.knownAs',
  'Cannot apply the plan: the portal or the options have changed since':
    'Não é possível aplicar o plano: o portal ou as opções mudaram desde então',
  'Make a new plan: subscriptions.plan()': 'Faça um plano novo: subscriptions.plan()',
  'Cannot apply the plan: it deletes subscriptions': 'Não é possível aplicar o plano: ele exclui inscrições',
  "Check the plan, then pass { deletions: 'allow' } or --allow-deletions":
    "Confira o plano, e depois passe { deletions: 'allow' } ou --allow-deletions",
  'Cannot rotate: the secret of this event is not derived': 'Não é possível trocar o segredo: ele não é derivado',
  'Change a given secret at its source, then plan and apply. To derive it, use receiver.secretFrom':
    'Mude na origem um segredo informado, e depois faça o plano e aplique-o. Para derivá-lo, use receiver.secretFrom',
  'the call {} waits for a process with the baseUrl and service of its request':
    'a chamada {} espera por um processo com o baseUrl e o service do seu pedido',
  'Cannot use the consent: it belongs to another person': 'Não é possível usar o consentimento: é de outra pessoa',
  'Cannot validate: this id was used without this consent':
    'Não é possível validar: este identificador foi usado sem este consentimento',
  'Use a new id for a validation under this consent': 'Use um identificador novo para validar com este consentimento',
  'not locked': 'sem bloqueio',
  'Cannot read the validation: its result was destroyed': 'Não é possível ler a validação: o resultado foi destruído',
  'Retention or the erasure of the person destroyed it. See validations.list for the rest; validating again under another id may cost money':
    'Foi destruído por um prazo de conservação ou pela eliminação da pessoa. Veja o resto em validations.list; validar de novo com outro identificador pode custar dinheiro',
  'Cannot find the validation: no validation has this id':
    'Não é possível encontrar a validação: nenhuma tem este identificador',
  'Use the id given to validate, not the trace id: validations.list has all of them':
    'Use o identificador dado a validate, e não o de rastreamento: validations.list tem todos',
  'Cannot validate: this id was used with another service':
    'Não é possível validar: este identificador foi usado com outro serviço',
  'Use another id. If the same service has moved, give its former address as validationService.knownAs':
    'Use outro identificador. Se o mesmo serviço mudou de endereço, informe o anterior em validationService.knownAs',
  'Cannot use the {}': 'Não é possível usar {}',
  'Cannot validate: wrong claims{}': 'Não é possível validar: há dados incorretos{}',
  'Use the fields of the contract, with texts, whole numbers and dates as YYYY-MM-DD: {}':
    'Use os campos do contrato, com textos, números inteiros e datas como YYYY-MM-DD: {}',
  'Cannot read failures: the day is not a date': 'Não é possível ler as falhas: o dia não é uma data',
  'Use yyyy-MM-dd': 'Use aaaa-MM-dd',
  'Cannot read failures: the portal does not have this day': 'Não é possível ler as falhas: o portal não tem este dia',
  'Give a day from {} to {} in Brasilia: the portal keeps thirty. The view `failures` has earlier readings':
    'Informe um dia de {} a {} em Brasília: o portal guarda trinta. A visão `failures` tem leituras anteriores',
  // averba
  'Cannot settle within a handler: it would wait for its own end':
    'Não é possível chamar settle dentro de um tratador: ele esperaria pelo próprio fim',
  'Let the handler return: `run`, or the next `settle`, performs what it asked for':
    'Deixe o tratador terminar: `run`, ou o próximo `settle`, faz o que ele pediu',
  // cli
  'Cannot complete for this shell': 'Não é possível completar comandos neste shell',
  'Use bash, zsh or fish': 'Use bash, zsh ou fish',
  'Write one with averba init, or name it with --config': 'Escreva uma com averba init, ou indique-a com --config',
  'Cannot load "{}": the file is missing': 'Não é possível carregar "{}": o arquivo não existe',
  'End it with: export default defineConfig({ ... })': 'Termine o arquivo com: export default defineConfig({ ... })',
  'Cannot load "{}": it exports no options by default': 'Não é possível carregar "{}": não exporta opções por padrão',
  'Cannot load "{}": {}': 'Não é possível carregar "{}": {}',
  'it throws something that is not an Error': 'lança algo que não é um Error',
  'Install what it imports in its folder: npm install {}': 'Instale na pasta dele o que ele importa: npm install {}',
  'a package or file that it imports is missing': 'falta um pacote ou arquivo que ele importa',
  'it throws {}{}{}': 'lança {}{}{}',
  'Run it alone to see where and why: node "{}"': 'Execute-a sozinha para ver onde e por quê: node "{}"',
  'Its package.json needs the type module (npm pkg set type=module). If it has it, run the file alone: node "{}"':
    'O package.json dela precisa do tipo module (npm pkg set type=module). Se já o tem, execute o arquivo sozinho: node "{}"',
  'Set what is missing, or delete the services that you do not use from the configuration':
    'Defina o que falta, ou apague da configuração os serviços que você não usa',
  'Run it in the folder of the log, or give the store an absolute path in the configuration':
    'Execute na pasta do registro, ou dê ao registro um caminho absoluto na configuração',
  'Cannot open "{}": the file is missing': 'Não é possível abrir "{}": o arquivo não existe',
  'Cannot open "{}": the file is missing or empty': 'Não é possível abrir "{}": o arquivo não existe ou está vazio',
  'Cannot use {} without --store': 'Não é possível usar {} sem --store',
  'Cannot use {} with --store': 'Não é possível usar {} com --store',
  'Give the configuration, or the log with its keyring': 'Informe a configuração, ou o registro com o seu chaveiro',
  'it exists already': 'já existe',
  'Name a new file in an existing folder, on a disk with free space':
    'Indique um arquivo novo em uma pasta existente, em um disco com espaço livre',
  'Cannot write "{}": {}': 'Não é possível escrever "{}": {}',
  'Cannot read the root key: the name of an environment variable is needed':
    'Não é possível ler a chave raiz: é preciso o nome de uma variável de ambiente',
  'Set a variable to the key, and give its name: a key on the command line is seen by others':
    'Ponha a chave em uma variável e informe o nome dela: uma chave na linha de comando é vista por outros',
  'Cannot use --limit: give a number from 1 to 999999': 'Não é possível usar --limit: informe um número de 1 a 999999',
  'Cannot use {} with ids': 'Não é possível usar {} com identificadores',
  'Give the ids, or what selects': 'Informe os identificadores, ou o que seleciona',
  'Give --data, --actor and --purpose together: the log keeps who saw the data':
    'Informe --data, --actor e --purpose juntos: o registro guarda quem viu os dados',
  'Cannot use {}': 'Não é possível usar {}',
  'Cannot show the data: {} is missing': 'Não é possível mostrar os dados: falta {}',
  'Cannot write the output ({}){}\n': 'Não é possível escrever a saída ({}){}\n',
  'Cannot use --lang: the language is unknown': 'Não é possível usar --lang: o idioma é desconhecido',
  'Use en or pt-BR': 'Use en ou pt-BR',
  'set run.receiver, unless averba.receiver is served elsewhere':
    'defina run.receiver, a não ser que averba.receiver seja oferecido em outro lugar',
  'Cannot serve receivers: the group is empty': 'Não é possível oferecer receptores: o grupo está vazio',
  'Cannot serve the receiver of {}: another receiver has another certificate for "{}"':
    'Não é possível oferecer o receptor de {}: outro receptor tem outro certificado para "{}"',
  'Give receivers with the same host name the same certificate, or different ports':
    'Dê a receptores com o mesmo nome de host o mesmo certificado, ou portas diferentes',
  'Cannot serve the receivers of {}: both have the path "{}"':
    'Não é possível oferecer os receptores de {}: ambos têm o caminho "{}"',
  'Give each receiver.publicUrl its own path, or each run.receiver its own port':
    'Dê a cada receiver.publicUrl o seu próprio caminho, ou a cada run.receiver a sua própria porta',
  'it failed': 'falhou',
  'Cannot listen on {}:{} ({})': 'Não é possível escutar em {}:{} ({})',
  'Set run.host and run.port to a free address': 'Defina run.host e run.port com um endereço livre',
  'it is stopping': 'está parando',
  'Cannot act on consents: it is not said whose': 'Não é possível agir sobre consentimentos: não foi dito de quem',
  'Give their streams, or --controller, --subject or --ends, and with these --status':
    'Informe os fluxos, ou --controller, --subject ou --ends, e com estas --status',
  'its end is wanted since {} [{}, withdraw-end]': 'o fim é pedido desde {} [{}, withdraw-end]',
  'Cannot operate: --actor is missing': 'Não é possível agir: falta --actor',
  'The log keeps who acts': 'O registro guarda quem age',
  'Cannot use --port: it is not a port': 'Não é possível usar --port: não é uma porta',
  'Cannot make the folder "{}"': 'Não é possível criar a pasta "{}"',
  'Name another folder': 'Indique outra pasta',
  'Cannot create the log "{}": it exists already': 'Não é possível criar o registro "{}": já existe',
  'Stop it, or use another folder': 'Pare-o, ou use outra pasta',
  'Cannot start averba dev: it runs in this folder already': 'Não é possível iniciar averba dev: já roda nesta pasta',
  'Give an address such as --to localhost:8443': 'Informe um endereço como --to localhost:8443',
  'Cannot notify "{}": it is not an address of this machine': 'Não é possível notificar "{}": não é desta máquina',
  'its body': 'o conteúdo',
  'Start averba dev with --evento {}': 'Inicie averba dev com --evento {}',
  'Cannot trigger "{}": it has no subscription': 'Não é possível disparar "{}": não tem inscrição',
  'Cannot trigger the event: the body is not JSON': 'Não é possível disparar o evento: o conteúdo não é JSON',
  'Name an event of 1 to 40 characters, as in averba trigger dimp-situacao-import':
    'Indique um evento de 1 a 40 caracteres, como em averba trigger dimp-situacao-import',
  'Cannot trigger the event: the simulated portal refuses it':
    'Não é possível disparar o evento: o portal simulado o recusa',
  'Start it in another terminal: averba dev': 'Inicie-o em outro terminal: averba dev',
  'Cannot trigger the event: averba dev does not run in this folder':
    'Não é possível disparar o evento: averba dev não está em execução nesta pasta',
  'Cannot use {} with a store': 'Não é possível usar {} com um registro',
  'It is for: averba doctor {}': 'É para: averba doctor {}',
  'Cannot use {} without a store': 'Não é possível usar {} sem um registro',
  'It is for: averba doctor <store> {}': 'É para: averba doctor <store> {}',
  'Give ids, or --state, --service, --type or --stream. To see which calls: add --dry-run':
    'Informe identificadores, ou --state, --service, --type ou --stream. Para ver quais chamadas: acrescente --dry-run',
  'Cannot {} calls: neither ids nor what selects them':
    'Não é possível aplicar {} a chamadas: faltam os identificadores, ou o que as selecione',
  'Cannot {} the call now: averba effects show says what can be done':
    'Não é possível aplicar {} à chamada agora: averba effects show diz o que se pode fazer',
  'Cannot show the call: no call has this id': 'Não é possível mostrar a chamada: nenhuma tem este identificador',
  'Cannot erase without a subject: give --subject, or a CPF on standard input':
    'Não é possível eliminar sem um titular: informe --subject, ou um CPF na entrada padrão',
  'Cannot use --backups-kept: give a number of up to five digits':
    'Não é possível usar --backups-kept: informe um número de até cinco dígitos',
  'its position, or its id as <stream>/<version>': 'a posição, ou o identificador como <stream>/<version>',
  'Cannot disclose the event: {} is missing': 'Não é possível revelar o evento: falta {}',
  'Name a folder that this user is allowed to make': 'Indique uma pasta que este usuário possa criar',
  'Cannot make the folder "{}"{}': 'Não é possível criar a pasta "{}"{}',
  'To overwrite it: averba init --force': 'Para sobrescrever: averba init --force',
  'Cannot write "{}": it exists already': 'Não é possível escrever "{}": já existe',
  'Cannot use --after: it is not a position of the log': 'Não é possível usar --after: não é uma posição do registro',
  'Cannot show the notification: none has this id':
    'Não é possível mostrar a notificação: nenhuma tem este identificador',
  'it arrived {} times': 'chegou {} vezes',
  'Cannot use {} in this report': 'Não é possível usar {} neste relatório',
  'Give a day or an instant, such as {} 2026-01-31': 'Informe um dia ou um instante, como {} 2026-01-31',
  'Cannot write the report: {} is missing': 'Não é possível escrever o relatório: falta {}',
  'Cannot use the port: it has to be a number from 1 to 65531':
    'Não é possível usar a porta: tem de ser um número de 1 a 65531',
  'Cannot use the seed: it has to be a number of up to nine digits':
    'Não é possível usar a semente: tem de ser um número de até nove dígitos',
  'Give an object, such as --fault \'{"kind":"lose","times":1}\'':
    'Informe um objeto, como --fault \'{"kind":"lose","times":1}\'',
  'Cannot add the fault: it is not JSON': 'Não é possível acrescentar a falha: não é JSON',
  'Give an object, such as --policies \'{"consentService":{"missingRecord":"badRequest"}}\'':
    'Informe um objeto, como --policies \'{"consentService":{"missingRecord":"badRequest"}}\'',
  'Cannot set the policies: they are not JSON': 'Não é possível definir as políticas: não são JSON',
  'Name a new folder inside an existing one, or that of an earlier run':
    'Indique uma pasta nova dentro de uma existente, ou a de uma execução anterior',
  'Cannot make the folder "{}" for the certificates': 'Não é possível criar a pasta "{}" para os certificados',
  'Cannot go on in the folder "{}": its {} is of another version, or damaged':
    'Não é possível continuar na pasta "{}": {} é de outra versão, ou tem danos',
  'Cannot go on in the folder "{}": a simulation runs there already':
    'Não é possível continuar na pasta "{}": já há uma simulação em execução nela',
  'Stop it first, or name a new folder': 'Pare-a antes, ou indique uma pasta nova',
  'Cannot apply two plans: give --plan or --hash, not both':
    'Não é possível aplicar dois planos: informe --plan ou --hash, e não ambos',
  'Write one with: averba plan --json > plan.json': 'Escreva um com: averba plan --json > plan.json',
  'Cannot read the plan "{}": it is missing or not JSON': 'Não é possível ler o plano "{}": não existe ou não é JSON',
  'Cannot read the plan "{}": it has no hash': 'Não é possível ler o plano "{}": não tem hash',
  'it was charged, and its result is lost': 'foi cobrada, e o resultado se perdeu',
  'it was not charged': 'não foi cobrada',
  'Cannot resolve the validation: give either --charged or --not-charged':
    'Não é possível resolver a validação: informe --charged ou --not-charged, um dos dois',
  'To compare a log with a checkpoint that was kept, verify the store or an export of it':
    'Para comparar um registro com um checkpoint guardado, verifique o registro ou uma exportação dele',
  'Cannot verify a bundle with {}: it is for a store':
    'Não é possível verificar um pacote com {}: serve para um registro',
  'Give --key with the verifier key line of the log: a bundle is verified without its keyring':
    'Dê --key com a linha da chave de verificação do registro: um pacote é verificado sem o chaveiro',
  'Cannot verify a proof with {}: it is for a whole log':
    'Não é possível verificar uma prova com {}: serve para um registro inteiro',
  'Give the line, or a file with the line': 'Informe a linha, ou um arquivo com a linha',
  'Cannot verify the proof: a given key is not a verifier key line':
    'Não é possível verificar a prova: uma chave informada não é uma linha de chave de verificação',
  'Give --key with the file "key" of an exported bundle: it has a line for each name of the log':
    'Informe --key com o arquivo "key" de um pacote exportado: tem uma linha para cada nome do registro',
  'Cannot verify the proof without the verifier key of the log':
    'Não é possível verificar a prova sem a chave de verificação do registro',
  'Cannot use "{}": the file has no verifier key line':
    'Não é possível usar "{}": o arquivo não tem linha de chave de verificação',
  // console
  'Cannot decide on the consent: its data subject was erased':
    'Não é possível decidir sobre o consentimento: os dados do seu titular foram eliminados',
  'Cannot reveal: the stream has no row': 'Não é possível revelar: o fluxo não tem linha',
  'Cannot answer: the data subject was erased': 'Não é possível responder: os dados do titular foram eliminados',
  // engine
  'Cannot open the log: other processes append to it all the time':
    'Não é possível abrir o registro: outros processos acrescentam eventos o tempo todo',
  'Try again. If no other process uses the file, run averba doctor --deep: it may be damaged':
    'Tente de novo. Se nenhum outro processo usa o arquivo, execute averba doctor --deep: ele pode estar danificado',
  'Cannot follow: types or handler are missing': 'Não é possível seguir: faltam os tipos ou o tratador',
  "Give a name, the types of events and a function: follow('mine', ['consent.revoked'], async event => ...)":
    "Informe um nome, os tipos de eventos e uma função: follow('mine', ['consent.revoked'], async event => ...)",
  'Cannot follow as "{}": another handler has this name': 'Não é possível seguir como "{}": outro tratador o usa',
  'Give each handler a name of its own, and register it once per process':
    'Dê a cada tratador o seu próprio nome, e registre-o uma vez por processo',
  'Cannot set the time of a handler: timeoutMs is out of range':
    'Não é possível definir o tempo de um tratador: timeoutMs está fora dos limites',
  'Give a whole number of milliseconds, 1 to 86400000': 'Informe um número inteiro de milissegundos, de 1 a 86400000',
  'Cannot open the part "{}": it does not exist': 'Não é possível abrir a parte "{}": não existe',
  'Cannot find the machine of the stream "{}"': 'Não é possível encontrar a máquina do fluxo "{}"',
  'Wait for earlier {} before sending more': 'Espere por {} anteriores antes de enviar mais',
  'Cannot record: {} {} are waiting already': 'Não é possível registrar: {} {} já esperam',
  'Cannot record: {}': 'Não é possível registrar: {}',
  'Set the clocks of both by NTP': 'Acerte os relógios de ambos por NTP',
  'Other processes append all the time. Try again': 'Outros processos acrescentam o tempo todo. Tente de novo',
  'Cannot do this now: {}': 'Não é possível fazer isto agora: {}',
  'Cannot use the command id "{}" again: its input differs':
    'Não é possível usar de novo o identificador de comando "{}": os dados informados com ele diferem',
  'Give every command its own id, and repeat an id only with the same input':
    'Dê a cada comando o seu próprio identificador, e só o repita com os mesmos dados',
  'Cannot use the command id "{}" again: its data subject was erased{}':
    'Não é possível usar de novo o identificador de comando "{}": os dados do seu titular foram eliminados{}',
  'Its input was erased, and it is not repeated. subjects.receipt reports the erasure of the person':
    'Os dados do comando foram eliminados, e ele não é repetido. subjects.receipt relata a eliminação da pessoa',
  // machines
  'Cannot draw the charts: {}': 'Não é possível desenhar os diagramas: {}',
  'it is parked': 'está suspensa',
  'it was withdrawn': 'desistiu-se dela',
  'it was recorded before': 'já foi registrada',
  'it was requested before': 'já foi pedida',
  'its data subject was erased': 'os dados do seu titular foram eliminados',
  'it was repeated before': 'já foi repetida',
  'it had ended before': 'já tinha terminado',
  'it is {}: only PENDENTE becomes ATIVO or NEGADO, and only ATIVO REVOGADO':
    'está {}: só PENDENTE passa a ATIVO ou NEGADO, e só ATIVO a REVOGADO',
  'its end was asked for and is still wanted: consents.withdrawEnd gives it up':
    'o pedido do seu fim ainda vale: consents.withdrawEnd desiste dele',
  'it had vanished': 'tinha deixado de constar',
  'its history shows a status that the contract does not have': 'seu histórico mostra um status que o contrato não tem',
  'its data subject was not erased': 'os dados do seu titular não foram eliminados',
  'it is registered or being registered': 'já existe no portal ou está em criação',
  'it is registered already': 'já existe no portal',
  'it may be registered already: list the subscriptions first': 'talvez já exista no portal: liste antes as inscrições',
  // operations
  'Cannot compare the log with {}': 'Não é possível comparar o registro com {}',
  'Name the file of a checkpoint that was kept, such as <store>.mark or the file "checkpoint" of a bundle':
    'Indique o arquivo de um checkpoint que foi guardado, como <store>.mark ou o arquivo "checkpoint" de um pacote',
  'Cannot use a verifier key: it is not a line of an Ed25519 key':
    'Não é possível usar uma chave de verificação: não é a linha de uma chave Ed25519',
  'Give a line like the one in the file "key" of an exported bundle':
    'Dê uma linha como a do arquivo "key" de um pacote exportado',
  'Cannot continue this log': 'Não é possível continuar este registro',
  'Cannot move the log: it has a fault: {}': 'Não é possível mudar o registro de lugar: tem um defeito: {}',
  'Cannot open "{}": a move of a log to here has not ended':
    'Não é possível abrir "{}": a mudança de um registro para cá não terminou',
  'Repeat averba copy, or remove what is here if the log is to stay at its former place':
    'Repita averba copy, ou remova o que há aqui se o registro deve ficar no lugar anterior',
  'Cannot move the log: it has left for another place':
    'Não é possível mudar o registro de lugar: ele já saiu para outro lugar',
  'Name the place as before. If that is lost, averba resume continues the log at its former place':
    'Dê o mesmo lugar de antes. Se ele se perdeu, averba resume continua o registro no lugar anterior',
  'Cannot move the log: its copy has a fault: {}': 'Não é possível mudar o registro de lugar: cópia com defeito: {}',
  'Verify the log at its former place': 'Verifique o registro no lugar anterior',
  'Cannot replay against "{}": this version does not exist here':
    'Não é possível reexecutar com "{}": esta versão não existe aqui',
  // proof
  'Cannot write {}: only safe integers are allowed': 'Não é possível escrever {}: só são permitidos inteiros seguros',
  'Cannot write {}: only plain JSON values are allowed': 'Não é possível escrever {}: só valores JSON simples',
  'Cannot write {}: the text has a lone surrogate': 'Não é possível escrever {}: o texto tem um surrogate isolado',
  'A tree of {} leaves has no leaf {}': 'Uma árvore de {} folhas não tem a folha {}',
  'A tree of {} leaves is not the beginning of one of {}': 'Uma árvore de {} folhas não é o começo de uma de {}',
  'the log has no table for version {} of the machine "{}"': 'falta no registro a tabela da versão {} da máquina "{}"',
  'the machine "{}" decided about "{}"': 'a máquina "{}" decidiu sobre "{}"',
  'a table of a machine cannot be read': 'uma tabela de uma máquina não pode ser lida',
  'the machine "{}" has two tables of one version': 'a máquina "{}" tem duas tabelas da mesma versão',
  '"{}" does not lead to "{}"': '"{}" não leva a "{}"',
  '"{}" leads to another "{}"': '"{}" leva a outro "{}"',
  '"{}" is not marked as an anomaly': '"{}" não está marcado como anomalia',
  '"{}" does not lead to "{}" in this state': '"{}" não leva a "{}" neste estado',
  '"{}" may not request the effect "{}"': '"{}" não pode pedir o efeito "{}"',
  'it does not have the form of a disclosure': 'não tem a forma de uma revelação',
  'it does not hold an event': 'não contém um evento',
  'it discloses no part': 'não revela nenhuma parte',
  'its part "{}" is not the one that the event names': 'a sua parte "{}" não é a que o evento indica',
  'the key for the part "{}" is not the one that the event names': 'a chave da parte "{}" não é a que o evento indica',
  'it holds a key for none of its parts': 'não contém chave para nenhuma das suas partes',
  '"{}" does not open with the key of its record': '"{}" não abre com a chave do seu evento',
  'the leaf at {} is not the hash of its header': 'a folha na posição {} não é o hash do seu cabeçalho',
  'the events of the erasure are not in it': 'não contém os eventos da eliminação',
  'an event has another position, or belongs to another subject': 'um evento tem outra posição, ou é de outro titular',
  'a part is newer than the erasure': 'uma parte é mais nova do que a eliminação',
  'a part is among those that were kept': 'uma parte está entre as que foram conservadas',
  'the parts are not those that the erasure recorded': 'as partes não são as que a eliminação registrou',
  'it has another number of parts': 'tem outro número de partes',
  'the erasure is that of another subject': 'a eliminação é a de outro titular',
  'the erasure is on the stream of another subject': 'a eliminação está no fluxo de outro titular',
  'the request names another requester': 'o pedido indica outro requerente',
  'the request names another legal basis': 'o pedido indica outra base legal',
  'other kinds were kept': 'foram conservadas outras espécies',
  'the erasure was at another time': 'a eliminação foi em outro instante',
  'the key was kept and not destroyed, or the reverse': 'a chave foi conservada e não destruída, ou o contrário',
  'the erasure deleted another number of index rows': 'a eliminação excluiu outro número de linhas do índice',
  'other calls were cancelled': 'foram canceladas outras chamadas',
  'it gave up another number of ends': 'desistiu de outro número de fins',
  'its completion is not the recorded one': 'a sua conclusão não é a que foi registrada',
  'the epochs were destroyed at another time, or while the key is kept':
    'as épocas foram destruídas em outro instante, ou enquanto a chave é conservada',
  'the text at {} is not that of an event': 'o texto na posição {} não é o de um evento',
  'a checkpoint is over {} events, and there are {}': 'um checkpoint abrange {} eventos, e há {}',
  'there is no event': 'não há nenhum evento',
  'the header at {} has another format': 'o cabeçalho na posição {} tem outro formato',
  'the event at {} says that it has another position': 'o evento na posição {} diz que tem outra posição',
  'the time at {} goes back': 'o instante na posição {} volta atrás',
  'at {}, "{}" should have version {}': 'na posição {}, "{}" devia ter a versão {}',
  'a part at {} is there twice': 'uma parte na posição {} aparece duas vezes',
  'the part "{}" at {} is not the one that its header names': 'a parte "{}" da posição {} não é a do seu cabeçalho',
  'there is a part at {} that its header does not name': 'há uma parte na posição {} que o seu cabeçalho não indica',
  'the log begins at 1, and says so at {}': 'o registro começa na posição 1, e diz que começa na posição {}',
  'at {}, the log continues another log than the one before':
    'na posição {}, o registro continua outro registro, e não o anterior',
  'at {}, the log does not name its key': 'na posição {}, o registro não indica a sua chave',
  'at {}, the log goes on under another key': 'em {}, o registro continua com outra chave',
  'at {}, the log names another key than the one it is verified with':
    'na posição {}, o registro indica uma chave diferente daquela com que é verificado',
  'the checkpoint over {} events is over other events': 'o checkpoint sobre {} eventos abrange outros eventos',
  'the checkpoint over {} events is of another log': 'o checkpoint sobre {} eventos é de outro registro',
  'the part "{}" at {} is missing, and no event says why':
    'falta a parte "{}" na posição {}, e nenhum evento diz por quê',
  'it does not have the form of a proof': 'não tem a forma de uma prova',
  'it does not hold its event, and none was given': 'não contém o seu evento, e nenhum foi dado',
  'its checkpoint is of another log': 'o seu checkpoint é de outro registro',
  'a signature of its checkpoint is wrong': 'uma assinatura do seu checkpoint está errada',
  'its checkpoint is not signed with the key of the log': 'o seu checkpoint não está assinado com a chave do registro',
  'its hashes do not lead from the event to the root of its checkpoint':
    'os seus hashes não levam do evento à raiz do checkpoint',
  'its event says that it has another position': 'o seu evento diz que tem outra posição',
  'It has faults.': 'Há defeitos.',
  'No key of a witness was given.': 'Não foi dada a chave de nenhuma testemunha.',
  'The mark beside the log is signed with a key that was read from the log itself: give a key, a mark or the keyring from elsewhere.':
    'A marca ao lado do registro está assinada com uma chave lida do próprio registro: dê uma chave, uma marca ou o chaveiro vindos de outro lugar.',
  'A log that is broken proves nothing.': 'Um registro violado não prova nada.',
  'Events {} to {} are {}: they may still be exchanged.': 'Os eventos de {} a {} {}: ainda podem ser trocados.',
  'That its key belongs to its owner: the key was read from the log itself. Compare it with a key from another source.':
    'Que a chave é mesmo do seu dono: ela foi lida do próprio registro. Compare-a com uma chave de outra fonte.',
  'That an authority gave its time stamps: the newest is over the checkpoint of {} events, at {}. Verify its signature with "openssl ts -verify".':
    'Que uma autoridade emitiu os seus carimbos do tempo: o mais novo é do checkpoint de {} eventos, de {}. Verifique a assinatura com "openssl ts -verify".',
  'That the recorded facts were true: a log holds what it was given.':
    'Que os fatos registrados eram verdadeiros: um registro guarda o que recebeu.',
  'That the times in it are right: they come from the clock of its owner.':
    'Que os instantes estão certos: vêm do relógio do dono do registro.',
  'That it is the newest copy: events after {} may be missing, such as an erasure. Only a later checkpoint shows that.':
    'Que é a cópia mais nova: podem faltar eventos posteriores a {}, como uma eliminação. Só um checkpoint posterior mostra isso.',
  'newer than the last checkpoint that a witness signed':
    'são mais novos do que o último checkpoint que uma testemunha assinou',
  'That its owner did not rewrite it: with the keyring, another history can be signed. Only a checkpoint that someone else keeps or signs shows that.':
    'Que o dono não o reescreveu: com o chaveiro, outra história pode ser assinada. Só um checkpoint guardado ou assinado por terceiros mostra isso.',
  'newer than the mark': 'são mais novos do que a marca',
  'That its end was not cut off, and that it was not replaced by an older copy.':
    'Que o fim não foi cortado, e que não foi substituído por uma cópia mais antiga.',
  'not covered by a signed checkpoint': 'não são abrangidos por um checkpoint assinado',
  'the given checkpoint': 'o checkpoint dado',
  'No checkpoint from another source was given to compare it with.':
    'Não foi dado um checkpoint de outra fonte com que comparar.',
  'it holds {} events after its checkpoint': 'contém {} eventos depois do seu checkpoint',
  'leaves.ndjson cannot be read after event {}': 'leaves.ndjson não pode ser lido depois do evento {}',
  'it has no file parts.ndjson': 'falta o arquivo parts.ndjson',
  'line {} of parts.ndjson is out of order': 'a linha {} de parts.ndjson está fora de ordem',
  'there is a part at {}, but no event': 'há uma parte na posição {}, mas nenhum evento',
  'parts.ndjson cannot be read after line {}': 'parts.ndjson não pode ser lido depois da linha {}',
  'line {} of parts.ndjson is not a part': 'a linha {} de parts.ndjson não é uma parte',
  'the file key has more than {} keys': 'o arquivo key tem mais de {} chaves',
  'a line of the file key is not a verifier key': 'uma linha do arquivo key não é uma chave de verificação',
  'checkpoints.ndjson cannot be read': 'checkpoints.ndjson não pode ser lido',
  'a line of checkpoints.ndjson is not a checkpoint': 'uma linha de checkpoints.ndjson não é um checkpoint',
  'its checkpoint is not the newest of checkpoints.ndjson': 'o seu checkpoint não é o mais novo de checkpoints.ndjson',
  'is not base64': 'não é base64',
  'it has no file {}': 'falta o arquivo {}',
  '{} cannot be read': '{} não pode ser lido',
  'Cannot verify the bundle: a given key is not the line of an Ed25519 verifier key':
    'Não é possível verificar o pacote: uma chave dada não é a linha de uma chave de verificação Ed25519',
  'a line is longer than any that averba writes': 'uma linha é mais longa do que qualquer uma que o averba escreve',
  'it ends within a line': 'termina no meio de uma linha',
  'is longer than 64 kB': 'tem mais de 64 kB',
  'checkpoint {} {}': 'o checkpoint {} {}',
  'checkpoint {} is not over more events than the one before': 'o checkpoint {} não tem mais eventos que o anterior',
  'the answer of the anchor for checkpoint {} {}': 'a resposta da âncora para o checkpoint {} {}',
  'the time stamp of checkpoint {} is not over the whole signed note':
    'o carimbo do tempo do checkpoint {} não é da nota assinada inteira',
  "a witness's signature of checkpoint {} is wrong": 'a assinatura de uma testemunha no checkpoint {} está errada',
  'is damaged': 'apresenta danos',
  'has a wrong signature': 'tem uma assinatura errada',
  'is not signed with the key of the log': 'não tem assinatura da chave do registro',
  // store
  'Cannot open "{}": the log is missing, but its keyring is there':
    'Não é possível abrir "{}": falta o registro, mas o seu chaveiro está ali',
  'Look at the address and its schema, or repeat a copy that was interrupted: the keyring belongs to a log elsewhere. A new log needs a keyring of its own':
    'Confira o endereço e o esquema: o chaveiro é de um registro em outro lugar. Um registro novo precisa de um chaveiro próprio',
  'Cannot open "{}": the keyring belongs to another log': 'Não é possível abrir "{}": o chaveiro é de outro registro',
  'Put back the keyring file that was created with this log':
    'Ponha de volta o arquivo do chaveiro que foi criado com este registro',
  'Cannot open "{}": its keyring is an outdated copy': 'Não é possível abrir "{}": o seu chaveiro é uma cópia antiga',
  'Put the newest keyring back: an erasure after this copy created keys that it lacks':
    'Ponha de volta o chaveiro mais novo: uma eliminação posterior a esta cópia criou chaves que ela não tem',
  'Cannot open the log: its first event is not log.began':
    'Não é possível abrir o registro: o seu primeiro evento não é log.began',
  'Cannot store the anchor of a checkpoint: it {}': 'Não é possível guardar a âncora de um checkpoint: ela {}',
  'Let `anchor` return only a time stamp or a signed note':
    'Faça `anchor` devolver só um carimbo do tempo ou uma nota assinada',
  'Cannot sign a checkpoint: the log has no first event':
    'Não é possível assinar um checkpoint: o registro não tem um primeiro evento',
  'its high-water mark is damaged': 'a sua marca está danificada',
  'it has {} events, and had {} when its high-water mark was written':
    'tem {} eventos, e tinha {} quando a sua marca foi escrita',
  'its first {} events differ from those under its high-water mark':
    'os seus primeiros {} eventos diferem dos que a sua marca abrange',
  'Cannot use the time stamp of a checkpoint: it is of other bytes':
    'Não é possível usar o carimbo do tempo de um checkpoint: é de outros bytes',
  'Stamp the exact bytes that `anchor` gets: the whole note, with its signatures':
    'Carimbe os bytes exatos que `anchor` recebe: a nota inteira, com as suas assinaturas',
  'Cannot read the high-water mark "{}"': 'Não é possível ler a marca "{}"',
  'Cannot open "{}": {}': 'Não é possível abrir "{}": {}',
  'Move the mark away and keep it. Then averba verify has to say self-consistent, and with --key held':
    'Tire a marca do lugar e guarde-a. Então averba verify tem de dizer self-consistent, e com --key, held',
  'its high-water mark is that of another log': 'a sua marca é a de outro registro',
  'Cannot prove the event at {}: no checkpoint covers it':
    'Não é possível provar o evento na posição {}: nenhum checkpoint o abrange',
  'Close the log or request a checkpoint: both sign one': 'Feche o registro ou peça um checkpoint: ambos assinam um',
  'Cannot prove consistency: the text is not a checkpoint':
    'Não é possível provar a coerência: o texto não é um checkpoint',
  'Cannot prove consistency: the checkpoint is not of this log':
    'Não é possível provar a coerência: o checkpoint não é deste registro',
  'Cannot write a proof: the log has no checkpoint yet': 'Não é possível escrever uma prova: não há checkpoint ainda',
  'Cannot prove the event: no event has this position or id':
    'Não é possível provar o evento: nenhum evento tem esta posição ou este identificador',
  'Give its position, or its id as <stream>/<version>': 'Dê a posição, ou o identificador como <stream>/<version>',
  'Cannot disclose "{}": it has no key of its own': 'Não é possível revelar "{}": não tem uma chave própria',
  'Set the option recordKeys: later events get their own keys':
    'Use a opção recordKeys: eventos posteriores ganham as suas próprias chaves',
  'Cannot disclose "{}": its parts were destroyed': 'Não é possível revelar "{}": as suas partes foram destruídas',
  'the leaf of the event at {} is not the hash of its header': 'a folha do evento {} não é o hash do seu cabeçalho',
  'its last event is at {}, but a part, an effect or a follower is at {}':
    'o seu último evento está na posição {}, mas uma parte, um efeito ou um seguidor está na posição {}',
  'the last subtree on level {} does not match the tree of its {} events':
    'a última subárvore do nível {} não corresponde à árvore dos seus {} eventos',
  'the tree of its {} events has one level too many': 'a árvore dos seus {} eventos tem um nível a mais',
  'a digest of the kind "{}" leads to "{}", which does not exist': 'um resumo da espécie "{}" leva a "{}", inexistente',
  'a digest of the kind "{}" leads to "{}", which was erased': 'um resumo da espécie "{}" leva a "{}", já eliminado',
  'a digest of the kind "{}" leads to "{}", without a tag that binds them':
    'um resumo da espécie "{}" leva a "{}", sem um autenticador que os vincule',
  '"{}" has no digest of the kind "{}"': '"{}" não tem resumo da espécie "{}"',
  'there are digests of the unknown kind "{}"': 'há resumos da espécie desconhecida "{}"',
  'a recent digest names the event at {}': 'um resumo recente indica o evento na posição {}',
  '{}, which does not exist or has another time': '{}, que não existe ou tem outro instante',
  'the call {}/{} has another state than the log says': 'a chamada {}/{} tem um estado diferente do que diz o registro',
  'the call {}/{} is missing in the ledger': 'falta a chamada {}/{} no livro de efeitos',
  'was written without the keys of the log': 'foi escrito sem as chaves do registro',
  'was changed since it was written': 'foi alterado depois de escrito',
  'the event at {} {}': 'o evento na posição {} {}',
  'the header at {} differs from its row': 'o cabeçalho na posição {} difere da sua linha',
  'the key of "{}" is not the one that was made at {}': 'a chave de "{}" não é a que foi criada na posição {}',
  'the part "{}" at {} was destroyed, but still exists': 'a parte "{}" na posição {} foi destruída, mas ainda existe',
  'the subtree {} of level {} does not match the events': 'a subárvore {} do nível {} não corresponde aos eventos',
  'there are {} subtrees instead of {}': 'há {} subárvores em vez de {}',
  'its head names {} events instead of {}': 'a sua cabeça indica {} eventos em vez de {}',
  'its head does not match its last event, stream, owner or tree':
    'a sua cabeça não corresponde ao último evento, fluxo, dono ou árvore',
  'its head was written without the keys of the log, or the log was changed since':
    'a sua cabeça foi escrita sem as chaves do registro, ou o registro foi alterado depois',
  '"{}" ends at {}, and its row says {}': '"{}" termina em {}, e a sua linha diz {}',
  'the end of "{}" was changed, or written without the keys of the log':
    'o fim de "{}" foi alterado, ou escrito sem as chaves do registro',
  'the key of "{}" is destroyed, and no event explains it': 'a chave de "{}" está destruída, e nenhum evento o explica',
  '"{}" was erased, but is still marked as live': '"{}" foi eliminado, mas ainda está marcado como vivo',
  '"{}" was erased, but the key still exists': '"{}" foi eliminado, mas a chave ainda existe',
  'parts of "{}" were kept, but the key is destroyed': 'partes de "{}" foram conservadas, mas a chave está destruída',
  '"{}" was erased, but is not marked as erased': '"{}" foi eliminado, mas não está marcado como eliminado',
  'the receipt of the command of the event at {}': 'o recibo do comando do evento na posição {}',
  'the command of the event at {} has no receipt': 'o comando do evento na posição {} não tem recibo',
  '{} says that it was refused': '{} diz que ele foi recusado',
  '{} names position {}': '{} indica a posição {}',
  'a receipt names the event at {}, which does not exist': 'um recibo indica o evento na posição {}, que não existe',
  'a receipt at {} has an unknown code': 'um recibo na posição {} tem um código desconhecido',
  'a receipt at {} names an effect that its command did not request':
    'um recibo na posição {} indica um efeito que o seu comando não pediu',
  'a receipt at {} names a stream that does not exist, or names one although its command recorded an event':
    'um recibo na posição {} indica um fluxo que não existe, ou indica um embora o seu comando tenha registrado um evento',
  'Find out who changed the file, then drop what is foreign, or restore a backup beside it':
    'Apure quem alterou o arquivo, e então remova o que é alheio, ou restaure uma cópia de segurança ao lado dele',
  'its table "{}" has a foreign {} "{}"': 'a sua tabela "{1}" tem um objeto alheio, "{3}" ({2})',
  'its {} "{}" is missing': 'falta o seu objeto "{2}" ({1})',
  'its {} "{}" was changed': 'o seu objeto "{2}" ({1}) foi alterado',
  'it has a foreign {} "{}"': 'tem um objeto alheio, "{2}" ({1})',
  'the keyring belongs to another log': 'o chaveiro é de outro registro',
  'the epoch {} is missing in the keyring': 'falta a época {} no chaveiro',
  'Run averba doctor --deep: it lists all faults': 'Execute averba doctor --deep: lista todos os defeitos',
  'the damaged data could not be checked completely': 'os dados danificados não puderam ser conferidos por inteiro',
  '{} is stopped: {}': 'a visão {} está parada: {}',
  '{} cannot be built: it fails at {}': 'a visão {} não pode ser formada: falha na posição {}',
  '{} differs from the log in {} rows: {}': 'a visão {} difere do registro em {} linhas: {}',
  'Cannot diagnose "{}"': 'Não é possível diagnosticar "{}"',
  'schema: the log cannot be opened: {}: {}': 'esquema: o registro não pode ser aberto: {}: {}',
  'server: {} is off: a power cut would lose what was acknowledged':
    'servidor: {} está desligado: uma queda de energia perderia o que foi confirmado',
  'erasures: {}': 'eliminações: {}',
  "tags, index and owners' keys are not checked": 'autenticadores, índice e chaves dos donos não são conferidos',
  'views: {} is stopped: {}': 'visões: {} está parada: {}',
  'mark: the log cannot be opened with it: {}': 'marca: o registro não pode ser aberto com ela: {}',
  'tags: the log cannot be opened: {}': 'autenticadores: o registro não pode ser aberto: {}',
  'keys: the keyring is missing, and the log cannot be opened without it. If it is kept elsewhere, name it with keyring, or --keys on the command line':
    'chaves: falta o chaveiro, e sem ele o registro não pode ser aberto. Se é guardado em outro lugar, indique-o com keyring, ou com --keys na linha de comando',
  'keys: the keyring has mode {} instead of 600': 'chaves: o chaveiro tem o modo {} em vez de 600',
  'keys: a process died and left "{}", a copy that opens data erased since: delete it':
    'chaves: um processo morreu e deixou "{}", uma cópia que abre dados eliminados depois: apague-a',
  'the log cannot be opened: {}': 'o registro não pode ser aberto: {}',
  'its head does not have exactly one row': 'a sua cabeça não tem exatamente uma linha',
  'the checkpoint over {} events is missing': 'falta o checkpoint sobre {} eventos',
  "That headers, index and owners' keys have the tags of the log: its keyring was not opened.":
    'Que cabeçalhos, índice e chaves dos donos têm os autenticadores do registro: o chaveiro não foi aberto.',
  'the high-water mark': 'a marca',
  'There is no high-water mark: no evidence from outside the store shows how far the log had come.':
    'Não há marca: nada de fora do armazenamento mostra até onde o registro tinha chegado.',
  'checkpoint {} is missing': 'falta o checkpoint {}',
  'checkpoint {} differs from its row': 'o checkpoint {} difere da sua linha',
  'the keyring beside it belongs to another log: put its own there, or give a verifier key':
    'o chaveiro ao lado é de outro registro: ponha ali o próprio, ou dê uma chave de verificação',
  'the keyring cannot be read': 'o chaveiro não pode ser lido',
  'Cannot use {}: another process has written since': 'Não é possível usar {}: outro processo gravou desde então',
  'Try again': 'Tente de novo',
  'Cannot run steps in a savepoint side by side with others':
    'Não é possível executar passos em um savepoint lado a lado com outros',
  'Cannot print the grants: a role has no name, or one with $':
    'Não é possível mostrar os direitos: um papel não tem nome, ou tem um com $',
  'Give the name of a role of the server: averba grants app': 'Dê o nome de um papel do servidor: averba grants app',
  'Cannot open a log on PostgreSQL: its keyring is not named':
    'Não é possível abrir um registro no PostgreSQL: o seu chaveiro não foi indicado',
  'Give the option keyring, or --keys on the command line (--to-keys for the new place of a copy)':
    'Dê a opção keyring, ou --keys na linha de comando (--to-keys para o novo lugar de uma cópia)',
  'Cannot open "{}": its tables have version {}, averba supports {}':
    'Não é possível abrir "{}": as suas tabelas têm a versão {}, o averba aceita {}',
  'Cannot print the migrations: the version or the dialect is unknown':
    'Não é possível mostrar as migrações: a versão ou o dialeto é desconhecido',
  'Versions are 0 to {}, dialects sqlite and postgres': 'As versões são de 0 a {}, os dialetos sqlite e postgres',
  'Cannot write "{}": its file, or its -wal or -shm, was moved, replaced or deleted':
    'Não é possível gravar "{}": o seu arquivo, ou o -wal ou -shm, foi movido, substituído ou apagado',
  'Stop this process and put the file back: nothing is recorded until the log is opened again':
    'Pare este processo e ponha o arquivo de volta: nada é registrado até que o registro seja aberto de novo',
  'Check the address, the user and the server: the cause says more':
    'Confira o endereço, o usuário e o servidor: a causa diz mais',
  'Cannot use {}: the server gave no connection': 'Não é possível usar {}: o servidor não deu uma conexão',
  'Cannot use {}: the transaction was rolled back': 'Não é possível usar {}: a transação foi desfeita',
  'The connection was lost before the commit: nothing was recorded. Try again':
    'A conexão se perdeu antes do commit: nada foi registrado. Tente de novo',
  'Cannot use {}: a commit was not answered, and the server is not reached':
    'Não é possível usar {}: um commit não foi respondido, e o servidor não é alcançado',
  'A command that was running may have been recorded: repeat it only with the same command id':
    'Um comando que estava em execução pode ter sido registrado: repita-o só com o mesmo identificador do comando',
  'it is locked or overloaded': 'está bloqueado ou sobrecarregado',
  'it cannot be written': 'não se pode gravar nele',
  'Cannot open {}: {} refuses it': 'Não é possível abrir {}: {} recusa',
  'Look at the user, the password, the database and the rights on the schema: the cause says more':
    'Confira o usuário, a senha, o banco de dados e os direitos sobre o esquema: a causa diz mais',
  'Cannot open {}: it has no log': 'Não é possível abrir {}: não tem um registro',
  'Look at the address and its parameter schema': 'Confira o endereço e o seu parâmetro schema',
  'It has the form postgres://user@host/database?schema=averba': 'Tem a forma postgres://user@host/banco?schema=averba',
  'Cannot open the log: its address cannot be read': 'Não é possível abrir o registro: seu endereço não pode ser lido',
  'Cannot use this pool: {}': 'Não é possível usar este pool: {}',
  'its connections take one request at a time': 'as suas conexões aceitam um pedido de cada vez',
  'its values are bytes (binary)': 'os seus valores são bytes (binary)',
  'Make it with new pg.Pool({ pipeline: true, … }), without binary':
    'Faça-o com new pg.Pool({ pipeline: true, … }), sem binary',
  'Cannot look for a text with the character NUL': 'Não é possível procurar um texto com o caractere NUL',
  'Cannot run this statement: it took longer than the server may give it':
    'Não é possível executar este comando SQL: demorou mais do que o servidor lhe pode dar',
  'Select less at a time': 'Selecione menos de cada vez',
  'Without the character NUL and halves of surrogate pairs, which no server stores':
    'Sem o caractere NUL e sem metades de pares substitutos, que nenhum servidor armazena',
  'Add the package pg: npm install pg': 'Acrescente o pacote pg: npm install pg',
  'Cannot open a log on PostgreSQL: its driver is not installed':
    'Não é possível abrir um registro no PostgreSQL: o driver não está instalado',
  'Cannot use PostgreSQL: {} is off': 'Não é possível usar o PostgreSQL: {} está desligado',
  'A power cut would lose what was acknowledged. Turn it on for this server, database or role':
    'Uma queda de energia perderia o que foi confirmado. Ligue-o neste servidor, banco de dados ou papel',
  'Cannot open the schema "{}": it is in the search path of this user':
    'Não é possível abrir o esquema "{}": está no search path deste usuário',
  'Use a schema that no search_path names: neither "public" nor one with the name of the user':
    'Use um esquema que nenhum search_path indique: nem "public", nem um com o nome do usuário',
  'Cannot open the schema "{}" in PostgreSQL: this user may not use it':
    'Não é possível abrir o esquema "{}" no PostgreSQL: este usuário não pode usá-lo',
  'Grant usage on the schema to it, and select, insert, update and delete on its tables':
    'Conceda-lhe usage no esquema, e select, insert, update e delete nas suas tabelas',
  'Cannot run a query of the log by itself: yield it with rows or first':
    'Não é possível executar sozinha uma consulta do registro: use yield com rows ou first',
  'Cannot use this schema for a log: its name is not allowed':
    'Não é possível usar este esquema para um registro: o nome não é permitido',
  'Use small letters, digits and _, and begin with a letter':
    'Use letras minúsculas, algarismos e _, e comece com uma letra',
  'Cannot open "{}": it is not a log of averba': 'Não é possível abrir "{}": não é um registro do averba',
  'Name the file of a log, or a backup of one': 'Indique o arquivo de um registro, ou uma cópia de segurança',
  'Cannot open "{}": the file holds no log': 'Não é possível abrir "{}": o arquivo não contém um registro',
  'If a log was there, restore a backup of it with averba restore':
    'Se havia ali um registro, restaure uma cópia de segurança dele com averba restore',
  'Cannot open "{}": its view "{}" was changed': 'Não é possível abrir "{}": a sua visão "{}" foi alterada',
  'Find out who changed the file, and restore a backup beside it':
    'Apure quem alterou o arquivo, e restaure uma cópia de segurança ao lado dele',
  'Cannot read {}: {}': 'Não é possível ler {}: {}',
  'it ends within a page: it was cut off': 'termina no meio de uma página: foi cortado',
  'Its keyring is there: restore a backup with averba restore, or move the keyring away to start a new log':
    'O chaveiro está ali: restaure uma cópia de segurança com averba restore, ou tire o chaveiro do lugar para começar um registro novo',
  'Cannot open "{}": it does not exist': 'Não é possível abrir "{}": não existe',
  'Cannot run this statement: it names a view or column that does not exist':
    'Não é possível executar este comando SQL: indica uma visão ou coluna que não existe',
  'averba doctor lists the views. The type Views has their columns':
    'averba doctor lista as visões. O tipo Views tem as suas colunas',
  'Cannot run this statement': 'Não é possível executar este comando SQL',
  'Cannot run this statement: the database cannot read it':
    'Não é possível executar este comando SQL: o banco de dados não consegue lê-lo',
  'Pass one query, with functions that the database has. The cause says what it cannot read':
    'Passe uma só consulta, com funções que o banco de dados tem. A causa diz o que ele não consegue ler',
  'A command that was running may still have been recorded: repeat it only with the same command id':
    'Um comando que estava em execução ainda pode ter sido registrado: repita-o só com o mesmo identificador do comando',
  'Cannot use "{}": {}': 'Não é possível usar "{}": {}',
  'If it was a log of averba, it is damaged: keep the file unchanged and restore a backup elsewhere':
    'Se era um registro do averba, está danificado: guarde o arquivo sem alterá-lo e restaure uma cópia de segurança em outro lugar',
  'it is not a SQLite database': 'não é um banco de dados SQLite',
  'Restart this program with the version of averba that last opened the file':
    'Reinicie este programa com a versão do averba que abriu o arquivo por último',
  'another version of averba changed its tables': 'outra versão do averba mudou as suas tabelas',
  'Check the disk. If it is healthy, keep the file unchanged and restore a backup elsewhere':
    'Confira o disco. Se está em ordem, guarde o arquivo sem alterá-lo e restaure uma cópia de segurança em outro lugar',
  'the file is damaged': 'o arquivo está danificado',
  'it is locked': 'está bloqueado',
  'Free some space. {}': 'Libere espaço. {}',
  'the disk is full': 'o disco está cheio',
  'it is a folder': 'é uma pasta',
  'Check that this user can write the file and its folder: SQLite creates files beside it':
    'Confira se este usuário pode gravar no arquivo e na sua pasta: o SQLite cria arquivos ao lado',
  'Check the disk. {}': 'Confira o disco. {}',
  'the disk failed': 'o disco falhou',
  'Cannot open "{}": its folder does not exist': 'Não é possível abrir "{}": a sua pasta não existe',
  'Name the file of a log, or a file that does not exist yet to create a log':
    'Indique o arquivo de um registro, ou um arquivo que ainda não existe para criar um registro',
  'Cannot open "{}": the file was cut off': 'Não é possível abrir "{}": o arquivo foi cortado',
  'Keep the file as it is, and restore a backup elsewhere':
    'Guarde o arquivo como está, e restaure uma cópia de segurança em outro lugar',
  'Cannot open "{}": {} is {} instead of {}': 'Não é possível abrir "{}": {} é {} em vez de {}',
  'The store would lose acknowledged events on power loss. Put the file on a local disk':
    'O armazenamento perderia eventos confirmados em uma queda de energia. Ponha o arquivo em um disco local',
  'Cannot use {}: another session reads or changes a table':
    'Não é possível usar {}: outra sessão lê ou muda uma tabela',
  'Wait for the end of a long report, and try again': 'Espere o fim de um relatório longo, e tente de novo',
  'Query them with selectFrom or with. Only events of the log change their rows':
    'Consulte-as com selectFrom ou with. Só eventos do registro mudam as suas linhas',
  'Cannot back up "{}"': 'Não é possível fazer a cópia de segurança de "{}"',
  'Cannot move or resume the log: a process works with it':
    'Não é possível mudar de lugar nem retomar o registro: um processo trabalha com ele',
  'Close every engine on it first. After one that died, wait for a minute':
    'Feche antes tudo o que o usa. Se um processo morreu, espere um minuto',
  'Cannot move the log: its keyring "{}" is missing': 'Não é possível mudar o registro de lugar: falta o chaveiro "{}"',
  'Cannot move the log: "{}" is another keyring': 'Não é possível mudar o registro de lugar: "{}" é outro chaveiro',
  'Name a place without a keyring': 'Indique um lugar sem chaveiro',
  'Cannot move the log: it has no head': 'Não é possível mudar o registro de lugar: não tem cabeça',
  'Cannot move the log: the copy has another root': 'Não é possível mudar o registro de lugar: a cópia tem outra raiz',
  'Cannot move the log: there is a log at the new place':
    'Não é possível mudar o registro de lugar: há um registro no novo lugar',
  'Name a file or a schema that does not exist': 'Indique um arquivo ou um esquema que não existe',
  'Cannot export: parts keep being destroyed': 'Não é possível exportar: partes continuam a ser destruídas',
  'Export again when the running erasures or retention have ended':
    'Exporte de novo quando terminarem as eliminações em andamento ou a destruição por prazo',
  'Cannot export to "{}": it is not an empty folder': 'Não é possível exportar para "{}": não é uma pasta vazia',
  'Choose a new or empty folder: nothing is overwritten': 'Escolha uma pasta nova ou vazia: nada é sobrescrito',
  'Cannot export "{}": it has no checkpoint': 'Não é possível exportar "{}": não tem checkpoint',
  'Close the log first: that signs a checkpoint': 'Feche antes o registro: isso assina um checkpoint',
  'Cannot verify "{}": the folder holds no export of a log':
    'Não é possível verificar "{}": a pasta não contém a exportação de um registro',
  'Name the file of a log, or a folder written by averba export':
    'Indique o arquivo de um registro, ou uma pasta escrita por averba export',
  'Choose another name: nothing is overwritten': 'Escolha outro nome: nada é sobrescrito',
  'Cannot restore "{}"': 'Não é possível restaurar "{}"',
  'It needs the keyring {} with the epochs {}': 'Precisa do chaveiro {} com as épocas {}',
  'Check the disk for free space and errors, then restore again':
    'Confira o espaço livre e os erros do disco, e restaure de novo',
  'Cannot restore "{}": there is no keyring at "{}"': 'Não é possível restaurar "{}": não há chaveiro em "{}"',
  'Put the log\'s keyring at "{}", or name it with --keys': 'Ponha o chaveiro do registro em "{}", ou use --keys',
  'Cannot mark an item as done: this is no transaction beside the log':
    'Não é possível marcar um item como feito: esta não é uma transação junto do registro',
  'Cannot follow as "{}": it would skip earlier events of the added types: {}':
    'Não é possível seguir como "{}": pularia eventos anteriores dos tipos acrescentados: {}',
  'Follow these types under a new name, which starts at the beginning of the log':
    'Siga estes tipos com outro nome, que parte do começo do registro',
  'Stop every process on it, keep the file, find out who can write to it, and restore a backup beside it':
    'Pare todos os processos que o usam, guarde o arquivo, apure quem pode gravar nele, e restaure uma cópia de segurança ao lado dele',
  'it was changed, or written without the keys of this log': 'foi alterado, ou escrito sem as chaves deste registro',
  'its row has another position': 'a sua linha tem outra posição',
  'its format is {}': 'o seu formato é {}',
  'Cannot read an event: its format is {}': 'Não é possível ler um evento: o seu formato é {}',
  'its header is not a JSON object': 'o seu cabeçalho não é um objeto JSON',
  'Cannot read an event of type "{}": its schema is {}, averba supports {}':
    'Não é possível ler um evento do tipo "{}": o seu schema é {}, o averba aceita {}',
  'Cannot use the index of the kind "{}": an entry was changed or moved':
    'Não é possível usar o índice da espécie "{}": uma entrada foi alterada ou movida',
  'Find out who can write to the file. averba.rebuildIndex makes the index again from the log':
    'Apure quem pode gravar no arquivo. averba.rebuildIndex refaz o índice a partir do registro',
  'its row names another stream or type': 'a sua linha indica outro fluxo ou tipo',
  'its leaf is not the hash of its header': 'a sua folha não é o hash do seu cabeçalho',
  'it was written without the keys of this log': 'foi escrito sem as chaves deste registro',
  'Cannot use this log: it was moved, and goes on elsewhere':
    'Não é possível usar este registro: mudou de lugar, e continua em outro',
  'Use its new place. This one can still be verified and read by tools. If the new place is lost, see averba resume':
    'Use o novo lugar. Este ainda pode ser verificado e lido por ferramentas. Se o novo se perdeu, veja averba resume',
  'it has {} events, and had {} when its keyring was written': 'tem {} eventos; tinha {} quando o chaveiro foi escrito',
  'Cannot destroy the epoch {}: keys are wrapped under it': 'Não é possível destruir a época {}: ela protege chaves',
  'Cannot rebuild "{}"': 'Não é possível refazer "{}"',
  'Cannot rebuild "{}": {}': 'Não é possível refazer "{}": {}',
  'Cannot run this statement: it reads something other than views':
    'Não é possível executar este comando SQL: lê algo que não são visões',
  'The views are {}': 'As visões são {}',
  'Cannot read the view "{}": it is stopped': 'Não é possível ler a visão "{}": está parada',
  'health() reports the reason. run, settle and averba rebuild restart what they can. If another version of averba took the view over, replace this process':
    'health() diz o motivo. run, settle e averba rebuild fazem recomeçar o que podem. Se outra versão do averba assumiu a visão, substitua este processo',
  'Cannot begin a transaction': 'Não é possível começar uma transação',
  'Cannot destroy the views: they stay open as long as the log':
    'Não é possível destruir as visões: ficam abertas enquanto o registro está aberto',
  'Call close(): it closes the log with its views': 'Chame close(): fecha o registro com as suas visões',
  'Cannot record the command: its data subject was erased':
    'Não é possível registrar o comando: os dados do seu titular foram eliminados',
  'Cannot append to "{}": it has no expectation': 'Não é possível acrescentar a "{}": falta a versão esperada',
  'Cannot seal the part "{}": its owner has no key': 'Não é possível lacrar a parte "{}": o seu dono não tem chave',
  'it was found out': 'foi apurado',
  'Cannot record: the log lacks event {}, which it had':
    'Não é possível registrar: o registro não tem o evento {}, que já teve',
  'Its server was replaced by one that is behind, or put back. Stop all processes and find the newest copy: averba resume continues from another one':
    'O seu servidor foi substituído por um que está atrás, ou voltou a um estado anterior. Pare todos os processos e procure a cópia mais nova: averba resume continua a partir de outra',
  // vault
  'Cannot decrypt: a nonce and a tag are longer': 'Não é possível decifrar: há menos bytes que um nonce e uma tag',
  'Cannot write the keyring "{}"': 'Não é possível gravar o chaveiro "{}"',
  'It is a copy of the keyring. Remove it and open the log again':
    'É uma cópia do chaveiro. Remova-a e abra o registro de novo',
  'Cannot remove "{}"': 'Não é possível remover "{}"',
  'Cannot open a key of epoch {}: the keyring does not hold it':
    'Não é possível abrir uma chave da época {}: o chaveiro não a contém',
  'Give another one: what is known of the former key would still open the log':
    'Dê outra: o que se sabe da chave anterior ainda abriria o registro',
  'Cannot change the root key: the new one is the present one': 'Não é possível trocar a chave raiz: a nova é a atual',
  'Cannot use "{}": it is the keyring of another log': 'Não é possível usar "{}": é o chaveiro de outro registro',
  'Cannot open the keyring "{}": it does not exist': 'Não é possível abrir o chaveiro "{}": não existe',
  'Put back the one that was created with the log: without it the personal data cannot be read':
    'Ponha de volta o que foi criado com o registro: sem ele os dados pessoais não podem ser lidos',
  'Cannot open the keyring "{}": it is under another root key':
    'Não é possível abrir o chaveiro "{}": está sob outra chave raiz',
  'Pass no keys: it holds its root key': 'Não passe keys: o chaveiro contém a sua chave raiz',
  'Pass the keys with id {}': 'Passe as keys com o id {}',
  '{} instead of {}': '{} em vez de {}',
  'Cannot open the keyring "{}": it does not hold its root key':
    'Não é possível abrir o chaveiro "{}": não contém a sua chave raiz',
  'Pass the root key: keys to openAverba, rootKey to a function on a store, --root-key-from to a command':
    'Passe a chave raiz: keys a openAverba, rootKey a uma função sobre um armazenamento, --root-key-from a um comando',
  'Cannot open the keyring "{}": its root key did not open it':
    'Não é possível abrir o chaveiro "{}": a chave raiz não o abriu',
  'Cannot open a keyring without a root key: no keys were passed':
    'Não é possível abrir um chaveiro sem chave raiz: não foram passadas keys',
  'Cannot find the root key: the variable {} is not set':
    'Não é possível encontrar a chave raiz: a variável {} não está definida',
  'Set it to the root key of the log, or for a new log to the output of: openssl rand -base64 32':
    'Ponha nela a chave raiz do registro, ou, para um registro novo, a saída de: openssl rand -base64 32',
  'Cannot use the root key: the variable {} does not hold {} bytes in base64':
    'Não é possível usar a chave raiz: a variável {} não contém {} bytes em base64',
  'Cannot read the keyring "{}": it is damaged': 'Não é possível ler o chaveiro "{}": está danificado',
  'Put back your backup of the keyring: without it the personal data cannot be read':
    'Ponha de volta a sua cópia de segurança do chaveiro: sem ele os dados pessoais não podem ser lidos',
  'Cannot open "{}": its header names another record key':
    'Não é possível abrir "{}": o seu cabeçalho indica outra chave de evento',
  'Cannot use the key of "{}": it was replaced by another key':
    'Não é possível usar a chave de "{}": foi substituída por outra chave',
  'Cannot open {}: the sealed bytes were changed or moved':
    'Não é possível abrir {}: os bytes lacrados foram alterados ou movidos',
  'Check the log with averba doctor --deep, keep the file unchanged and restore a backup beside it':
    'Confira o registro com averba doctor --deep, guarde o arquivo sem alterá-lo e restaure uma cópia de segurança ao lado dele',
  // vocabulary
  'Cannot use the log: it was closed': 'Não é possível usar o registro: foi fechado',
  'Open it again with openAverba': 'Abra-o de novo com openAverba',
  'Check the disk': 'Confira o disco',
  'Cannot do this with a log on PostgreSQL: it needs a SQLite file':
    'Não é possível fazer isto com um registro no PostgreSQL: é preciso um arquivo SQLite',
  'Use the tools of the server for its backups, and the functions of averba for everything else':
    'Use as ferramentas do servidor para as cópias de segurança, e as funções do averba para todo o resto',
  'Cannot read the instant: it is neither a day nor an instant':
    'Não é possível ler o instante: não é um dia nem um instante',
  'Give it as 2026-01-31, 2026-01-31T09:00 (both in Brasilia) or 2026-01-31T12:00:00Z':
    'Informe-o como 2026-01-31, 2026-01-31T09:00 (ambos no horário de Brasília) ou 2026-01-31T12:00:00Z',
  'Cannot take the value: the outcome is {}': 'Não é possível obter o valor: o desfecho é {}',
  'Cannot use the kind of parts: it is unknown': 'Não é possível usar a espécie de partes: é desconhecida',
  'Use some of {}': 'Use algumas destas: {}',
  'Cannot read the CPF: its form or its check digits are wrong':
    'Não é possível ler o CPF: a forma ou os dígitos verificadores estão errados',
  'Give eleven digits, leading zeros included, such as 00000000191':
    'Dê onze algarismos, com os zeros à esquerda, como 00000000191',
  'Cannot use the {}: it contains a CPF': 'Não é possível usar {}: contém um CPF',
  'Use a random id: ids stay in the log unencrypted':
    'Use um identificador aleatório: identificadores ficam no registro sem cifra',
  'Cannot read the CNPJ: its form or its check digits are wrong':
    'Não é possível ler o CNPJ: a forma ou os dígitos verificadores estão errados',
  'Give twelve digits or capital letters and two check digits, such as 12ABC34501DE35':
    'Dê doze algarismos ou letras maiúsculas e dois dígitos verificadores, como 12ABC34501DE35',
  // adapters
  'Cannot use the {} certificate': 'Não é possível usar o certificado ({})',
  'Give { cert, key } as PEM text, or { pfx, passphrase }': 'Dê { cert, key } como texto PEM, ou { pfx, passphrase }',
  'Renew it at your certificate authority': 'Renove-o na sua autoridade certificadora',
  'its passphrase is wrong': 'a sua senha está errada',
  'its PKCS#12 file cannot be read': 'o seu arquivo PKCS#12 não pode ser lido',
  'its {} cannot be read': 'não é possível ler o item {}',
  'Give PEM text, and the passphrase when the key is encrypted': 'Dê texto PEM, e a senha se a chave está cifrada',
  'Cannot use the {} certificate: it is not valid before {}':
    'Não é possível usar o certificado ({}): não é válido antes de {}',
  'The previous certificate stays in use until then': 'O certificado anterior continua em uso até lá',
  'Cannot get the {}: the function that gives it': 'Não é possível obter {}: a função que dá o valor',
  'Cannot use the {}: it is empty or not a text': 'Não é possível usar {}: o valor está vazio ou não é um texto',
  'Check where it is read from, such as a variable that is not set':
    'Confira de onde é lido, como uma variável que não está definida',
  'Cannot build the request: its address or a credential is malformed':
    'Não é possível montar a requisição: o endereço ou uma credencial está malformado',
  'Remove line breaks and other characters that a header cannot carry: check where it is read from':
    'Remova quebras de linha e outros caracteres que não cabem em um cabeçalho: confira de onde são lidos',
  'it answered within {} ms': 'respondeu em {} ms',
  'it ended the connection ({}){}': 'encerrou a conexão ({}){}',
  'Cannot read the notification: its body was consumed before':
    'Não é possível ler a notificação: o seu corpo já foi consumido',
  'Put the receiver before any body parser': 'Ponha o receptor antes de qualquer body parser',
  'Cannot read the notification: {} of {} bytes of its body arrived':
    'Não é possível ler a notificação: chegaram {} de {} bytes do seu corpo',
  'Put the receiver before anything that reads or changes the body, and keep content-length unchanged':
    'Ponha o receptor antes de tudo o que lê ou altera o corpo, e mantenha content-length inalterado',
  'its header event-type is missing, too long or has several values':
    'o cabeçalho event-type falta, é longo demais ou tem vários valores',
  'its secrets are not those of the subscription': 'os seus segredos não são os da inscrição',
  "its address is not in the portal's ranges, or not in receiver.sources":
    'o seu endereço não está nas faixas do portal, ou não está em receiver.sources',
  'it is not a POST': 'não é um POST',
  'its body is too large': 'o seu corpo é grande demais',
  'Cannot check the source of the notification': 'Não é possível conferir a origem da notificação',
  "Pass { remoteAddress }, or set receiver.sources to 'any' when another layer checks it":
    "Passe { remoteAddress }, ou ponha 'any' em receiver.sources se outra camada a confere",
  'Cannot use the source range "{}"': 'Não é possível usar a faixa de origem "{}"',
  'Give IPv4 ranges, such as 161.148.0.0/16': 'Dê faixas IPv4, como 161.148.0.0/16',
  'Cannot serve the receivers: there is no certificate': 'Não é possível oferecer os receptores: não há certificado',
  'Give certificate: { cert, key } as PEM text, or { pfx, passphrase }, for the name in receiver.publicUrl':
    'Dê certificate: { cert, key } como texto PEM, ou { pfx, passphrase }, para o nome em receiver.publicUrl',
  'Cannot serve the receivers: port {} cannot be opened ({})':
    'Não é possível oferecer os receptores: a porta {} não pode ser aberta ({})',
  'Cannot serve the receivers: {}': 'Não é possível oferecer os receptores: {}',
  "Give { receivers: { '/averba': averba.receiver } }, with the path of receiver.publicUrl":
    "Dê { receivers: { '/averba': averba.receiver } }, com o caminho de receiver.publicUrl",
  'the gateway issued a token': 'o gateway emitiu um token',
  'its answer has no bearer token': 'a sua resposta não tem um bearer token',
  'the gateway answered {}: {}': 'o gateway respondeu {}: {}',
  // simulation
  'Cannot decide: no message is given': 'Não é possível decidir: falta uma mensagem',
  'Cannot add the fault: {}': 'Não é possível acrescentar a falha: {}',
  'See docs/simulating.md for every kind of fault and its members':
    'Veja em docs/simulating.md cada espécie de falha e os seus campos',
  'Give what was saved, unchanged': 'Informe o que foi guardado, sem alterações',
  'Cannot read the saved authority': 'Não é possível ler a autoridade guardada',
  'Give another host or port': 'Informe outro host ou porta',
  'Cannot go on with the saved services: they have another form':
    'Não é possível continuar com os serviços guardados: têm outra forma',
  'Give what save() returned, unchanged': 'Informe o que save() devolveu, sem alterações',
  'Cannot deliver from "{}": it is not a loopback address':
    'Não é possível entregar a partir de "{}": não é um endereço de loopback',
  'Use an address such as 127.9.9.9': 'Use um endereço como 127.9.9.9',
  'Cannot use the seed: it must be a whole number, 0 or more':
    'Não é possível usar a semente: tem de ser um número inteiro, 0 ou mais',
  'Cannot send the request: no simulated service has this host name':
    'Não é possível enviar o pedido: nenhum serviço simulado tem este nome de host',
  'Return false from crashAt until simulate or restart has resolved: the opening has crash points too':
    'Devolva false em crashAt até que simulate ou restart termine: a abertura também tem pontos de queda',
  'Cannot open the engine: its process crashed meanwhile': 'Não é possível abrir o averba: o processo caiu',
  'Cannot fill the disk: it is that of a server': 'Não é possível encher o disco: é o de um servidor',
  'Simulate with a file or in memory': 'Simule com um arquivo ou em memória',
  'The world was closed, and its store with it. Do this before you close it':
    'O mundo foi fechado, e o seu registro com ele. Faça isto antes de fechá-lo',
  'Cannot {}: the store was closed': 'Não é possível {}: o registro foi fechado',
  'Cannot run on from {}: no timer is left and the predicate is still false':
    'Não é possível continuar a partir de {}: não resta nenhum temporizador e o predicado ainda é falso',
  'Start the work that you wait for, for example with averba.run or averba.settle':
    'Comece o trabalho que você espera, por exemplo com averba.run ou averba.settle',
  'Stop repeating work first (the signal of averba.run), or set a limit: advance, runUntil, wakesMax':
    'Pare antes o trabalho que se repete (o signal de averba.run), ou defina um limite: advance, runUntil, wakesMax',
  'Cannot run to the end: at {} {}': 'Não é possível chegar ao fim: em {} {}',
  // common
  'Choose among {}': 'Escolha entre {}',
  'Cannot use {} with --after and --follow': 'Não é possível usar {} com --after e --follow',
  'Events in between would be left out': 'Eventos no meio ficariam de fora',
  'averba report --help says what each report takes': 'averba report --help diz o que cada relatório aceita',
  'The environment variables {} are not set': 'As variáveis de ambiente {} não estão definidas',
  'Ended by {}: no file was made': 'Encerrado por {}: nenhum arquivo foi feito',
  'Give an instant in the past: by our clock this one is in the future':
    'Informe um instante do passado: pelo nosso relógio este está no futuro',
  'None of the given witnesses has signed a checkpoint of it.':
    'Nenhuma das testemunhas dadas assinou um checkpoint deste registro.',
  'The checkpoint over {} events contradicts the log': 'O checkpoint sobre {} eventos contradiz o registro',
  'The checkpoint over {} events was not signed with the keys of the log':
    'O checkpoint sobre {} eventos não foi assinado com as chaves do registro',
  'The end of "{}" was changed, or written without the keys of the log':
    'O fim de "{}" foi alterado, ou gravado sem as chaves do registro',
  'The hashes from {} to {} on level {} of its tree are not complete':
    'Os hashes de {} a {} no nível {} da árvore não estão completos',
  'The key of "{}" is marked as erased, and no event says so':
    'A chave de "{}" está marcada como eliminada, e nenhum evento o diz',
  'The last events of "{}" are missing': 'Faltam os últimos eventos de "{}"',
  'The log ends at {}': 'O registro termina em {}',
  'The log has no head': 'O registro não tem a linha head',
  'The log has {} events, and its epoch is said to have begun at {}':
    'O registro tem {} eventos, e consta que a sua época começou em {}',
  'The log has {} events, and its head names {}': 'O registro tem {} eventos, e a sua linha head indica {}',
  'The log of {} events was changed, or written to without its keys':
    'O registro de {} eventos foi alterado, ou gravado sem as suas chaves',
  'failure records cannot be read or have no content: {}': 'registros de falha ilegíveis ou sem conteúdo: {}',
  'fix the handler, then call notifications.replay({ failed: true }), or notifications.skip':
    'corrija o tratador, e depois chame notifications.replay({ failed: true }), ou notifications.skip',
  'it expired on {}': 'expirou em {}',
  'it has neither cert and key nor pfx': 'não tem cert e key nem pfx',
  'it holds {} events': 'eventos no registro: {}',
  'it is declared but not at the portal as ours: plan and apply':
    'está declarada, mas no portal não está como nossa: use plan e apply',
  'it is not UTF-8': 'não está em UTF-8',
  'it is not a signed checkpoint': 'não é um checkpoint assinado',
  'its key belongs to another certificate': 'a sua chave é de outro certificado',
  'its key is encrypted, and its passphrase is missing': 'a sua chave está cifrada, e falta a senha',
  'its log has no events': 'o seu registro não tem eventos',
  'run or rebuild recovers what it can': 'run ou rebuild recupera o que puder',
  'set both by NTP': 'acerte ambos por NTP',
  'the copy could not be written completely': 'a cópia não pôde ser gravada por inteiro',
  'the file does not exist': 'o arquivo não existe',
  'the portal deletes it in {} days unless a delivery succeeds: fix the receiver':
    'o portal a exclui em {} dias se nenhuma entrega tiver êxito: corrija o receptor',
  'the portal has another {} than declared: plan and apply': 'no portal difere do declarado: {}; use plan e apply',
  'the portal has deleted it: fix the cause, then plan and apply, or stop declaring it':
    'o portal a excluiu: corrija a causa, e depois use plan e apply, ou deixe de declará-la',
  'there is no such view': 'esta visão não existe',
  'views can only be read': 'visões só podem ser lidas',
  'which does not exist or has another time': 'que não existe ou tem outro instante',
  '{} did not answer within {} seconds': '{} não respondeu em {} segundos',
  '{}, then effects.retry("{}")': '{}, e depois effects.retry("{}")',
  // reasons
  'The data subject was erased before it was sent': 'Os dados do titular foram eliminados antes do envio',
  'A reading showed that it was not done': 'Uma leitura mostrou que não foi feita',
  'an answer that is too large from': 'uma resposta grande demais de',
  'a 401 with more than one token from': 'um 401 com mais de um token de',
  'an answer that is not that of': 'uma resposta que não é de',
  '{} {} got {}; see effects.get': '{} {} com {}; veja effects.get',
  'Give an address such as http://proxy.example:3128, or environment':
    'Informe um endereço como http://proxy.example:3128, ou environment',
  'Give it without punctuation, such as 12ABC34501DE35': 'Informe-o sem pontuação, como 12ABC34501DE35',
  'Give portal.authenticate: staticHeaders, portalAccessKeys, portalSession, or a function':
    'Informe portal.authenticate: staticHeaders, portalAccessKeys, portalSession, ou uma função',
  'record kinds': 'espécies de eventos',
  'Give the option tokenService, or validationService.bearer': 'Dê a opção tokenService, ou validationService.bearer',
  'the option receiver is missing': 'falta a opção receiver',
  'Give the option receiver: it is served at the path of its publicUrl':
    'Informe a opção receiver: o receptor é oferecido no caminho do seu publicUrl',
  'a store on PostgreSQL needs it, and a file has its own':
    'um registro no PostgreSQL precisa dele, e um arquivo tem o seu próprio',
  'Give the path of a file, or an object over your secret store, for a store on PostgreSQL only. To look into a backup, restore it':
    'Informe o caminho de um arquivo, ou um objeto sobre o seu cofre de segredos, só para um registro no PostgreSQL. Para examinar uma cópia, restaure-a',
  'the store is a file': 'o registro é um arquivo',
  'Give the store an address such as postgres:?schema=averba, or leave out the pool':
    'Dê ao registro um endereço como postgres:?schema=averba, ou omita o pool',
  '{} paid calls were requested today, and the limit is {}': 'chamadas pagas pedidas hoje: {}; o limite é {}',
  'no machine is called "{}"': 'nenhuma máquina se chama "{}"',
  '"{}" is not a format': '"{}" não é um formato',
  'the body is no longer there': 'o conteúdo já não existe',
  'none of its handlers has failed: each is handled, or is still to be called':
    'nenhum dos seus tratadores falhou: cada um terminou ou ainda será chamado',
  'it was not received': 'não foi recebida',
  'this log belongs to the portal at another address: see portal.knownAs':
    'este registro é do portal em outro endereço: veja portal.knownAs',
  'another process had asked as well': 'outro processo também tinha pedido',
  'the current token has not been rejected': 'o token atual não foi rejeitado',
  'the gateway refused this consumer key and secret: correct them first':
    'o gateway recusou esta chave e este segredo do consumidor: corrija-os antes',
  'a token request has not been answered yet': 'um pedido de token ainda não teve resposta',
  'the gateway returned the rejected token again: the next request waits until it expires':
    'o gateway devolveu de novo o token rejeitado: o próximo pedido espera até que ele expire',
  'the new tokens are rejected: the next request waits': 'os tokens novos são rejeitados: o próximo pedido espera',
  'it was resolved before': 'já foi resolvida',
  'only an inconclusive validation can be repeated': 'só uma validação inconclusiva pode ser repetida',
  'only an inconclusive validation can be resolved': 'só uma validação inconclusiva pode ser resolvida',
  'members of it could not be read': 'há campos que não puderam ser lidos',
  'It took longer than {} ms': 'Levou mais de {} ms',
  'Restore a backup with averba restore, repeat a copy that was interrupted, or move the keyring away to start a new log':
    'Restaure uma cópia de segurança com averba restore, repita uma cópia interrompida, ou tire o chaveiro do lugar para começar um registro novo',
  'no answer in time': 'sem resposta a tempo',
  "the service's host name was not found": 'o nome de host do serviço não foi encontrado',
  'the connection was refused': 'a conexão foi recusada',
  'the connection broke': 'a conexão caiu',
  'this process is not permitted to reach it': 'este processo não tem permissão de alcançá-lo',
  'Cannot go on: Deno does not permit it': 'Não é possível continuar: o Deno não permite',
  'permit its address, on Deno by --allow-net, or look for a firewall':
    'permita o seu endereço, no Deno com --allow-net, ou procure um firewall',
  'the service cannot be reached': 'o serviço não pode ser alcançado',
  'the connection timed out': 'a conexão esgotou o tempo',
  'the answer is not HTTP': 'a resposta não é HTTP',
  "the service's certificate is for another name": 'o certificado do serviço é de outro nome',
  "the service's certificate has expired": 'o certificado do serviço expirou',
  'the service refused the handshake': 'o serviço recusou o handshake',
  "the service's certificate is not trusted: is the option ca missing or wrong?":
    'o certificado do serviço não é confiável: a opção ca falta ou está errada?',
  'Check that this user may read and write it, and its folder':
    'Confira se este usuário pode ler e gravar nele, e na sua pasta',
  'Choose a path on a writable disk': 'Escolha um caminho em um disco em que se possa gravar',
  'Free some space': 'Libere espaço',
  'Check the name of its folder': 'Confira o nome da sua pasta',
  'Choose a file, not a folder': 'Escolha um arquivo, e não uma pasta',
  'correct its address, or ask who answers there': 'corrija o seu endereço, ou pergunte a quem responde ali',
  'check address, user name and password of the proxy, or ask who runs it':
    'confira o endereço, o nome de usuário e a senha do proxy, ou pergunte ao responsável por ele',
  'find out why: the contract may be blocked, or not cover the service or the person':
    'descubra por quê: o contrato pode estar bloqueado, ou não cobrir o serviço ou a pessoa',
  'check that our client certificate is the registered one and has not expired':
    'confira se o nosso certificado do cliente é o cadastrado e não expirou',
  'It was given up, or replaced by another command, before it was done':
    'Desistiu-se dela, ou outro comando a substituiu, antes que fosse feita',
  'averba needs Node 22.19 or newer; this is Node {}': 'o averba precisa do Node 22.19 ou mais novo; este é o Node {}',
  'No result will come: see outcome.problem of this error': 'Não virá resultado: veja outcome.problem deste erro',
  "No result will come: outcome.problem of this error has the service's own text":
    'Não virá resultado: outcome.problem deste erro tem o texto do próprio serviço',
  'It may be done: call run or settle, and a reading will show it':
    'Talvez tenha sido feita: chame run ou settle, e uma leitura o mostrará',
  "It may be done and is not repeated automatically: check the service's own records, then resolve it":
    'Talvez tenha sido feita, e não é repetida automaticamente: confira os registros do próprio serviço, e depois resolva-a',
  'It is recorded, and goes on while averba runs: effects.get has its state':
    'Está gravada, e continua enquanto o averba executa: effects.get mostra o seu estado',
  'declined as {}': 'recusado como {}',
  'declined with status {}': 'recusado com status {}',
  'deferred until {}: {}': 'adiado até {}: {}',
  'the answer is larger than {} bytes': 'a resposta tem mais de {} bytes',
  'the list has more than {} records': 'a lista tem mais de {} itens',
  'another process has taken it over': 'outro processo a assumiu',
  'ANSWER_TOO_LARGE: {}': 'ANSWER_TOO_LARGE: {}',
  'consent service': 'serviço de consentimentos',
  'token service': 'serviço de tokens',
  'validation service': 'serviço de validações',
  'the answer cannot be read': 'a resposta não pode ser lida',
  'the {} answered {}': 'o {} respondeu {}',
  'the address of the {} answered {}, and the answer is not its own':
    'o endereço do {} respondeu {}, e a resposta não é dele',
  'the address of the proxy is not one of http or https': 'o endereço do proxy não é http nem https',
  'the outbound proxy cannot be reached ({})': 'o proxy de saída não pode ser alcançado ({})',
  'PROXY_REFUSED: the outbound proxy answered {}': 'PROXY_REFUSED: o proxy de saída respondeu {}',
  'another process may have taken it over': 'outro processo pode tê-la assumido',
  'it answered {} "{}": {}': 'respondeu {} "{}": {}',
  '{}no answer within {} s: ask the service': '{}sem resposta em {} s: pergunte ao responsável pelo serviço',
  'connected, but': 'com conexão, mas',
  'check that it accepts our client certificate': 'confira se aceita o nosso certificado do cliente',
  'ask the service': 'pergunte ao responsável pelo serviço',
  'correct the option proxy, or HTTPS_PROXY, such as http://proxy.example:3128':
    'corrija a opção proxy, ou HTTPS_PROXY, como http://proxy.example:3128',
  "correct its address, or this machine's resolver": 'corrija o endereço, ou o resolvedor (DNS) desta máquina',
  'nothing listens at its address and port, or a firewall refuses':
    'nada escuta no seu endereço e porta, ou um firewall recusa',
  'check for a firewall in between': 'confira se há um firewall no caminho',
  'correct its address': 'corrija o seu endereço',
  "check this machine's clock, then ask the service":
    'confira o relógio desta máquina, e depois pergunte ao responsável pelo serviço',
  'authentication of the portal': 'a autenticação do portal',
  'headers of the portal': 'os cabeçalhos do portal',
  'ANSWER_TOO_LARGE: the answer is larger than portal.failuresBytesMax':
    'ANSWER_TOO_LARGE: a resposta é maior que portal.failuresBytesMax',
  'the portal has blocked this function for having been called too often ({})':
    'o portal bloqueou esta função por excesso de chamadas ({})',
  'the portal stops at night ({})': 'o portal para durante a noite ({})',
  'certificate of the portal': 'o certificado do portal',
  'clientId of the portal': 'o clientId do portal',
  'clientSecret of the portal': 'o clientSecret do portal',
  'the portal allows one login a minute': 'o portal permite um login por minuto',
  'the portal rejects a new session: {}': 'o portal rejeita uma sessão nova: {}',
  'another process is logging in at the portal': 'outro processo está fazendo login no portal',
  'the portal answered the login {}': 'o portal respondeu ao login {}',
  'an unknown number of': 'um número desconhecido de',
  'Ports below 1024 need a capability such as CAP_NET_BIND_SERVICE, or a proxy in front':
    'Portas abaixo de 1024 precisam de uma capability como CAP_NET_BIND_SERVICE, ou de um proxy na frente',
  'Give a host of this machine and a free port': 'Informe um host desta máquina e uma porta livre',
  'no receiver is given': 'não foi informado nenhum receptor',
  '"{}" is not a path': '"{}" não é um caminho',
  'the value for "{}" is not a receiver': 'o valor para "{}" não é um receptor',
  'try again later': 'tente de novo mais tarde',
  'correct the consumer key and secret': 'corrija a chave e o segredo do consumidor',
  'the call was answered 401: {}': 'a resposta à chamada foi 401: {}',
  'The attempt reported late that it was not done': 'A tentativa relatou com atraso que não foi feita',
  'the service no longer lists the consent': 'o serviço já não lista o consentimento',
  'the consent is now {}{}': 'o consentimento agora está {}{}',
  'The service no longer lists the consent: a denial or revocation is sent once it is listed again':
    'O serviço já não lista o consentimento: uma negação ou revogação é enviada quando ele voltar à lista',
  'It was given up, or a reading showed another status, before the request was sent':
    'Desistiu-se dela, ou uma leitura mostrou outro status, antes que o pedido fosse enviado',
  'It was given up, or a reading showed another status: the request was sent once, not processed, and is not sent again':
    'Desistiu-se dela, ou uma leitura mostrou outro status: o pedido foi enviado uma vez, não foi processado, e não é enviado de novo',
  'It was decided before: use another command id for a new decision':
    'Já foi decidido: use outro identificador de comando para uma decisão nova',
  'The earlier use under this command id stays recorded at {}':
    'O uso anterior com este identificador de comando continua registrado na posição {}',
  'the consent': 'o consentimento',
  'the filter': 'o filtro',
  'the handler': 'o tratador',
  'parked by an operator': 'suspensa por um operador',
  'a reading is never given up: it changes nothing': 'não se desiste de uma leitura: ela não muda nada',
  'a denial or revocation is given up by consents.withdrawEnd only, with a reason':
    'só se desiste de uma negação ou revogação por consents.withdrawEnd, com um motivo',
  'the body does not fit its schema{}': 'o conteúdo não corresponde ao seu schema{}',
  'a reader still uses the journal of the file': 'um leitor ainda usa o journal do arquivo',
  'Give an unchanged row of a view that has sealed columns':
    'Informe, sem alterações, uma linha de uma visão que tenha colunas lacradas',
  'the consent is not effective: {}': 'o consentimento não está em vigor: {}',
  'The named consent is no longer effective: nothing was sent':
    'O consentimento indicado já não está em vigor: nada foi enviado',
  'The named consent is no longer effective: an earlier request was sent but not processed, and it was not repeated':
    'O consentimento indicado já não está em vigor: um pedido anterior foi enviado, mas não processado, e não foi repetido',
  'CALL_UNAUTHORIZED: the call was answered 401 with more than one token':
    'CALL_UNAUTHORIZED: a chamada teve a resposta 401 com mais de um token',
  'other processes keep requesting tokens': 'outros processos continuam a pedir tokens',
  'the gateway returned the rejected token again': 'o gateway devolveu de novo o token rejeitado',
  'TOKEN_REJECTED: {} tokens in a row were answered 401': 'TOKEN_REJECTED: {} tokens seguidos tiveram a resposta 401',
  'the token request is parked: release it with effects.retry': 'pedido de token suspenso: libere-o com effects.retry',
  'another process is requesting a token': 'outro processo está pedindo um token',
  'another contract uses the same credential name: give each its own tokenService.credential':
    'outro contrato usa o mesmo nome de credencial: dê a cada um o seu próprio tokenService.credential',
  'CREDENTIALS_REFUSED: the service answered 401 to validationService.bearer':
    'CREDENTIALS_REFUSED: o serviço respondeu 401 a validationService.bearer',
  'CREDENTIALS_REFUSED: the gateway answered {} to the consumer key and secret':
    'CREDENTIALS_REFUSED: o gateway respondeu {} à chave e ao segredo do consumidor',
  'the next request is not before {}: find out why calls are answered 401':
    'o próximo pedido não será antes de {}: apure por que as chamadas têm a resposta 401',
  'the gateway refused the consumer key and secret: correct them':
    'o gateway recusou a chave e o segredo do consumidor: corrija-os',
  'the gateway returned the rejected token again; {}': 'o gateway devolveu de novo o token rejeitado; {}',
  'several tokens in a row were refused soon after they were issued; {}':
    'vários tokens seguidos foram recusados logo depois de emitidos; {}',
  'id of the validation to pay again: it is of another person':
    'o identificador da validação a pagar de novo: é de outra pessoa',
  'claims: they differ from those of the validation to pay again; use a new id without `again`':
    'claims: diferem dos da validação a pagar de novo; use um identificador novo sem `again`',
  'consent: its person was erased meanwhile': 'consent: os dados da sua pessoa foram eliminados nesse meio-tempo',
  'verdict: charged must be true or false': 'verdict: charged tem de ser true ou false',
  'A person found out that it was not charged': 'Uma pessoa apurou que não foi cobrada',
  'A person found out that it was charged and its result is lost':
    'Uma pessoa apurou que foi cobrada e que o resultado se perdeu',
  'the validation': 'a validação',
  'input: again and reuseWithinMs exclude each other': 'input: again e reuseWithinMs excluem-se',
  'input: reuseWithinMs must be 0 or more': 'input: reuseWithinMs tem de ser 0 ou mais',
  'claims: all are blank, and the call may cost money': 'claims: todos em branco, e a chamada pode custar dinheiro',
  '<an unknown field>': '<um campo desconhecido>',
  'the attempt never reported back': 'a tentativa nunca relatou um desfecho',
  'a second one with our secrets delivers all again: delete it there':
    'uma segunda, com os nossos segredos, entrega tudo de novo: exclua-a lá',
  'this process declares its event: give the deletion up, or stop declaring it':
    'este processo declara o seu evento: desista da exclusão, ou deixe de declará-lo',
  'the list of the portal could not be read first': 'a lista do portal não pôde ser lida antes',
  'the portal lists one already': 'o portal já lista uma',
  'the call is from before a restore': 'a chamada é anterior a uma restauração',
  'given up after {} attempts': 'desistência depois de {} tentativas',
  'given up after {} hours': 'desistência depois de {} horas',
  'Nothing was sent. When the reason no longer holds, ask under a new command id: a refusal is stored with its id':
    'Nada foi enviado. Quando o motivo deixar de valer, peça com um identificador de comando novo: uma recusa é guardada com o seu identificador',
  'Use another log for another portal. If the same portal has moved, give its former address as portal.knownAs':
    'Use outro registro para outro portal. Se o mesmo portal mudou de endereço, informe o anterior em portal.knownAs',
  'Give the same reason as to subjects.hold: the events subject.held contain it':
    'Informe o mesmo motivo que em subjects.hold: os eventos subject.held o contêm',
  'Ask again under the same id after midnight in Brasilia, or raise validationService.paidPerDayMax':
    'Peça de novo com o mesmo identificador depois da meia-noite em Brasília, ou aumente validationService.paidPerDayMax',
  'Its call was made': 'A sua chamada foi feita',
  'Its call had no effect': 'A sua chamada não teve efeito',
  'Its call was perhaps made': 'A sua chamada talvez tenha sido feita',
  'the last change may have been made: a reading will show it':
    'a última mudança talvez tenha sido feita: uma leitura o mostrará',
  'nothing is known of it': 'nada se sabe dele',
  'the service no longer lists it': 'o serviço já não o lista',
  'the service shows another status: its history is being read':
    'o serviço mostra outro status: o seu histórico está sendo lido',
  'another change has not been answered yet': 'outra mudança ainda não teve resposta',
  'no denial or revocation is wanted': 'nenhuma negação ou revogação está pedida',
  'the service shows it in a form that cannot be read': 'o serviço o mostra em uma forma que não pode ser lida',
  'no move leads from {} to {}': 'nenhuma transição leva de {} a {}',
  'whose answer was lost': 'cuja resposta se perdeu',
  'whose answer did not show it': 'cuja resposta não a mostrou',
  'the change to {}, {}, was not made': 'a mudança para {}, {}, não foi feita',
  'the service was asked for {}, and answered {}': 'foi pedido {} ao serviço, e ele respondeu {}',
  'in another state': 'em outro estado',
  'no hold has this reason': 'nenhuma retenção legal tem este motivo',
  'no data subject is enrolled under this id': 'nenhum titular está cadastrado com este identificador',
  'the file still holds pieces of what was destroyed': 'o arquivo ainda contém pedaços do que foi destruído',
  'records could not be read': 'há itens que não puderam ser lidos',
  'only an active subscription can be changed': 'só uma inscrição ativa pode ser mudada',
  'the answer is late: its call has ended, or was for a former registration':
    'a resposta está atrasada: a sua chamada já terminou, ou era de uma inscrição anterior no portal',
  'only an active subscription can be deleted': 'só uma inscrição ativa pode ser excluída',
  'the portal has another endpoint or event than declared: plan and apply first':
    'o portal tem outro endpoint ou evento que o declarado: antes, faça o plano e aplique-o',
  'the portal lists it neither as active nor as deleted': 'o portal não a lista nem como ativa nem como excluída',
  'the portal lists one as active that it had deleted or not listed':
    'o portal lista como ativa uma que tinha excluído ou não listado',
  'there is no connection{}': 'não há conexão{}',
  'Look at the address and the server, and try again: the cause says more':
    'Confira o endereço e o servidor, e tente de novo: a causa diz mais',
  'the server refuses it ({})': 'o servidor recusa ({})',
  'Another session holds the log. Try again': 'Outra sessão detém o registro. Tente de novo',
  'Look at its disk, and whether it is a replica': 'Confira o seu disco, e se é uma réplica',
  'a table is damaged or missing': 'uma tabela está danificada ou falta',
  'Keep it unchanged and restore a backup elsewhere': 'Guarde-o sem alterá-lo e restaure uma cópia em outro lugar',
  'a row of "{}" refers to a missing row of "{}"': 'uma linha de "{}" aponta para uma linha que falta em "{}"',
  'Another process holds the file. Try again, or stop it': 'Outro processo detém o arquivo. Tente de novo, ou pare-o',
  'Name the file of a log': 'Indique o arquivo de um registro',
  'It says nothing about the backup: move the mark away if there is no newer backup':
    'A marca nada diz sobre a cópia de segurança: tire-a do lugar se não há cópia mais nova',
  'Look for a newer backup. With --accept-rollback the log continues from this one and records it':
    'Procure uma cópia de segurança mais nova. Com --accept-rollback o registro continua a partir desta e registra isso',
  'Send begin on this client first, and commit after your own work':
    'Envie antes begin neste cliente, e commit depois do seu próprio trabalho',
  'Use a transaction in the database in which the log is': 'Use uma transação no banco de dados em que está o registro',
  "the clock of this machine is {} s {} that of the log's server":
    'o relógio desta máquina está {} s {} outro, o do servidor do registro',
  'a call of its own is {} in the ledger, and {} in the log':
    'uma chamada sua está {} no livro de efeitos, e {} no registro',
  'a call in the ledger names it, and is not one of its own':
    'uma chamada no livro de efeitos o indica, e não é uma das suas',
  'the event at position {}': 'o evento na posição {}',
  'the one before it in "{}" is missing': 'falta o anterior em "{}"',
  'one erasure is': 'falta uma eliminação',
  '{} erasures are': 'faltam {} eliminações',
  '{} missing in this log, since {}: the data is as before': '{} neste registro, desde {}: os dados estão como antes',
  '{}. Erase each again, with {}: {}{}': '{}. Elimine cada titular de novo, com {}: {}{}',
  'the keyring is older than the log: a newer one exists': 'o chaveiro é mais antigo que o registro: há um mais novo',
  'the key of "{}" does not open with the keyring': 'a chave de "{}" não abre com o chaveiro',
  'the owner of its part "{}" was changed': 'o dono da sua parte "{}" foi alterado',
  'not built yet: rebuild it': 'ainda não foi formada: refaça-a com rebuild',
  'a version of averba without this view wrote to the log': 'uma versão do averba sem esta visão gravou no registro',
  'the log has version {} of this view, and this process has version {}':
    'o registro tem a versão {} desta visão, e este processo tem a versão {}',
  'another version of averba took it over: {}. Replace this process':
    'outra versão do averba a assumiu: {}. Substitua este processo',
  'while its rows were written': 'durante a gravação das suas linhas',
  'at position {}': 'na posição {}',
  'another version of averba uses the file': 'outra versão do averba usa o arquivo',
  'another process rebuilds it': 'outro processo a refaz',
  '"{}" is at {} instead of {}': '"{}" está em {} em vez de {}',
  'the owner of a part was erased meanwhile': 'o dono de uma parte foi eliminado nesse meio-tempo',
  'a {} was indexed meanwhile': 'um valor da espécie {} entrou no índice nesse meio-tempo',
  'the same content was recorded recently': 'o mesmo conteúdo foi registrado há pouco',
  'the effect "{}" has ended meanwhile, or another attempt has begun':
    'o efeito "{}" terminou nesse meio-tempo, ou outra tentativa começou',
  'the effect "{}" has ended meanwhile': 'o efeito "{}" terminou nesse meio-tempo',
  'the effect "{}" has begun meanwhile': 'o efeito "{}" começou nesse meio-tempo',
  'the effect "{}" has changed meanwhile': 'o efeito "{}" mudou nesse meio-tempo',
  'an event of the person was recorded meanwhile': 'um evento da pessoa foi registrado nesse meio-tempo',
  'a part was destroyed meanwhile': 'uma parte foi destruída nesse meio-tempo',
  'the data subject was erased meanwhile': 'os dados do titular foram eliminados nesse meio-tempo',
  'cancelled by {}': 'cancelada por {}',
  'read for one controller only (consentService.cnpj), or raise its answerBytesMax (for the failures of a day portal.failuresBytesMax), which does not change that a list has 10,000 records at most':
    'leia só para um controlador (consentService.cnpj), ou aumente o seu answerBytesMax (para as falhas de um dia portal.failuresBytesMax), o que não muda que uma lista tem no máximo 10.000 registros',
}

/** What the code puts together from several texts. */
export const composedMessages: Readonly<Record<string, string>> = {
  "error: missing required argument '{}'": "erro: falta o argumento obrigatório '{}'",
  "error: required option '{}' not specified": "erro: falta a opção obrigatória '{}'",
  "error: option '{}' argument missing": "erro: falta o valor da opção '{}'",
  "error: option '{}' argument '{}' is invalid. Allowed choices are {}.":
    "erro: a opção '{}' não pode ter o valor '{}'. Valores possíveis: {}.",
  "error: unknown command '{}'": "erro: comando desconhecido '{}'",
  "error: unknown option '{}'": "erro: opção desconhecida '{}'",
  "error: too many arguments for '{}'. Expected {} argument but got {}: {}.":
    "erro: argumentos demais para '{}'. Eram esperados {}, e vieram {}: {}.",
  "error: too many arguments for '{}'. Expected {} arguments but got {}: {}.":
    "erro: argumentos demais para '{}'. Eram esperados {}, e vieram {}: {}.",
  '(Did you mean {}?)': '(Você quis dizer {}?)',
  '(Did you mean one of {}?)': '(Você quis dizer um destes: {}?)',
  'the options': 'as opções',
  'state of a call': 'o estado de uma chamada',
  'state of a notification': 'o estado de uma notificação',
  'state of a validation': 'o estado de uma validação',
  'name of a follower': 'o nome de um seguidor',
  'name of a handler': 'o nome de um tratador',
  'name of the work': 'o nome do trabalho',
  'id of the item': 'o identificador do item',
  'id of a notification': 'o identificador de uma notificação',
  'validation id': 'o identificador da validação',
  'id of the validation to pay again': 'o identificador da validação a pagar de novo',
  'reason to pay again': 'o motivo de pagar de novo',
  'command id': 'o identificador do comando',
  'correlation id': 'o identificador de correlação',
  "actor's ref": 'a ref do actor',
  "basis's purpose": 'a finalidade de basis',
  "basis's legal basis": 'a base legal de basis',
  'client certificate': 'o certificado do cliente',
  'server certificate': 'o certificado do servidor',
  'it is of another person': 'é de outra pessoa',
  'they differ from those of the validation to pay again; use a new id without `again`':
    'diferem dos da validação a pagar de novo; use um identificador novo sem `again`',
  'its person was erased meanwhile': 'os dados da sua pessoa foram eliminados nesse meio-tempo',
  'charged must be true or false': 'charged tem de ser true ou false',
  'again and reuseWithinMs exclude each other': 'again e reuseWithinMs excluem-se',
  'reuseWithinMs must be 0 or more': 'reuseWithinMs tem de ser 0 ou mais',
  'all are blank, and the call may cost money': 'todos estão em branco, e a chamada pode custar dinheiro',
  'for an erased person use their ref, since a CPF no longer leads to them':
    'para uma pessoa eliminada use a ref, pois o CPF já não leva a ela',
  'continuing without it': 'continua sem ela',
  'a denial or revocation has': 'há uma negação ou revogação',
  '{} denials or revocations have': 'há {} negações ou revogações',
  '"{}" was woken {} of {} times': '"{}" foi despertado {} de {} vezes',
  'open an engine': 'abrir o averba',
  'fill the disk': 'encher o disco',
  'read the log': 'ler o registro',
  'start the clock': 'iniciar o relógio',
  'the start is not a time': 'o início não é um horário',
  'advance by {} ms': 'avançar {} ms',
  'it is {} s ahead of the {}: {}': 'está {} s à frente de {}: {}',
  'it is {} s behind the {}: {}': 'está {} s atrás de {}: {}',
  '{} s ahead of the {}': '{} s à frente de {}',
  '{} s behind the {}': '{} s atrás de {}',
  'Cannot find the consent: the event is not about a consent':
    'Não é possível encontrar o consentimento: o evento não é sobre um consentimento',
  'Cannot find the validation: the event is not about a validation':
    'Não é possível encontrar a validação: o evento não é sobre uma validação',
  'Cannot get the {}: the function that gives it failed': 'Não é possível obter {}: a função que dá o valor falhou',
  'Cannot get the {}: the function that gives it did not answer within {} seconds':
    'Não é possível obter {}: a função que dá o valor não respondeu em {} segundos',
  'Cannot use the client certificate': 'Não é possível usar o certificado do cliente',
  'Cannot use the server certificate': 'Não é possível usar o certificado do servidor',
  'Cannot use the client certificate: it is not valid before {}':
    'Não é possível usar o certificado do cliente: não é válido antes de {}',
  'Cannot use the server certificate: it is not valid before {}':
    'Não é possível usar o certificado do servidor: não é válido antes de {}',
  'its key cannot be read': 'a sua chave não pode ser lida',
  'its certificate cannot be read': 'o seu certificado não pode ser lido',
  'Known options: {}': 'Opções conhecidas: {}',
  'Known members: {}': 'Membros conhecidos: {}',
  'the given text': 'o texto dado',
  'the schema "{}" in PostgreSQL': 'o esquema "{}" no PostgreSQL',
  'the driver': 'o driver',
  'the server ({})': 'o servidor ({})',
  'the high-water mark {}': 'a marca {}',
  'the given checkpoint {}': 'o checkpoint dado {}',
  'the key of "{}"': 'a chave de "{}"',
  'Unknown option': 'Opção desconhecida',
  'Unknown option "{}"': 'Opção desconhecida "{}"',
  'Unknown option "{}" of {}': 'Opção desconhecida "{}" de {}',
  'Unknown option of {}': 'Opção desconhecida de {}',
  'Unknown member': 'Membro desconhecido',
  'Unknown member "{}"': 'Membro desconhecido "{}"',
  'Unknown member "{}" of {}': 'Membro desconhecido "{}" de {}',
  'Unknown member of {}': 'Membro desconhecido de {}',
  'Cannot retry "{}": no parked follower has this name': 'Não é possível liberar "{}": não é seguidor suspenso',
  'Cannot skip for "{}": no parked follower has this name':
    'Não é possível pular o evento de "{}": nenhum seguidor suspenso tem este nome',
  'Cannot retry the call': 'Não é possível liberar a chamada',
  'Cannot park the call': 'Não é possível suspender a chamada',
  'Cannot withdraw the call': 'Não é possível desistir da chamada',
  "see effects.list({ state: 'parked' })": "veja effects.list({ state: 'parked' })",
  "see effects.list({ state: 'unknown' })": "veja effects.list({ state: 'unknown' })",
  "see effects.list({ state: 'parked' }) and effects.list({ state: 'unknown' })":
    "veja effects.list({ state: 'parked' }) e effects.list({ state: 'unknown' })",
  'see effects.get': 'veja effects.get',
  'asked again: a reading showed that it was not made': 'pedida de novo: uma leitura mostrou que não foi feita',
  'backups from before the erasure need these keys until then':
    'cópias de antes da eliminação precisam destas chaves até lá',
  'no data subject is read by a schedule': 'nenhum titular é lido por agendamento',
  'had no events then': 'não tinha eventos nesse momento',
  'has no events': 'não tem eventos',
  'it agrees with the services within {} s': 'concorda com os serviços, com diferença de até {} s',
  '{} call got an answer that is not that of the {}': '{} chamada recebeu uma resposta que não é de {}',
  '{} calls got an answer that is not that of the {}': '{} chamadas receberam uma resposta que não é de {}',
  '{} call got a 401 with more than one token from the {}': '{} chamada recebeu um 401 com mais de um token de {}',
  '{} calls got a 401 with more than one token from the {}': '{} chamadas receberam um 401 com mais de um token de {}',
  '{} call got an answer that is too large from the {}': '{} chamada recebeu uma resposta grande demais de {}',
  '{} calls got an answer that is too large from the {}': '{} chamadas receberam uma resposta grande demais de {}',
  'the portal has {}': 'o portal tem {}',
  'another event': 'outro evento',
  'another endpoint': 'outro endereço',
  'other secrets': 'outros segredos',
}

/** Errors, their hints, the details of checks, the reasons of plans and the faults that a verification finds. */
export const portugueseMessages: Readonly<Record<string, string>> = {
  ...saidMessages,
  ...composedMessages,
  ...stateMeanings,
}
