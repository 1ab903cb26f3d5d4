const cpfNote =
  'O CPF é lido da entrada padrão, pois linhas de comando aparecem em listas de processos e históricos do shell.\n'
const runs = 'É executado por um processo em funcionamento: averba run.\n'
const logFile = 'o arquivo do registro, ou o endereço do seu esquema no PostgreSQL'

/** The Brazilian Portuguese of the command line, by the English texts in the code. Counted things have a plural. */
export const portuguese: Readonly<Record<string, string>> = {
  // Headings and what commander says.
  'Usage:': 'Uso:',
  'Options:': 'Opções:',
  'Commands:': 'Comandos:',
  'Arguments:': 'Argumentos:',
  'Example:': 'Exemplo:',
  'To begin:': 'Para começar:',
  'To run and to look:': 'Para executar e acompanhar:',
  'To act:': 'Para agir:',
  'To prove and to report:': 'Para provar e relatar:',
  'To keep:': 'Para conservar:',
  'print the version of averba': 'mostra a versão do averba',
  'the language, by default that of LANG': 'o idioma; por padrão, o de LANG',
  'show what it does': 'mostra esta ajuda',
  'This is a bug in averba, or in your code that averba called:':
    'Isto é um defeito do averba, ou do seu código que o averba chamou:',

  // What the codes of errors mean.
  INVALID_INPUT: 'entrada inválida',
  INVALID_CPF: 'CPF inválido',
  INVALID_CNPJ: 'CNPJ inválido',
  PERSONAL_ID: 'um identificador contém um CPF',
  CONSENT_NOT_EFFECTIVE: 'o consentimento não vale',
  NOT_FOUND: 'não encontrado',
  REFUSED: 'a situação atual não o permite; nada foi enviado',
  CONFLICT: 'outros gravaram antes; tente de novo',
  COMMAND_REUSED: 'o identificador já foi usado com outros dados',
  STALE_PLAN: 'o plano está desatualizado',
  PLAN_DELETES: 'o plano exclui inscrições',
  SUBJECT_ERASED: 'os dados do titular foram eliminados',
  PART_DESTROYED: 'os dados pessoais foram destruídos',
  BUDGET_SPENT: 'o limite diário de chamadas pagas foi atingido; nada foi enviado',
  OUTCOME: 'não feito, ou ainda não se sabe',
  STORE_UNSAFE: 'um arquivo não pode ser lido ou gravado com segurança',
  STORE_BUSY: 'outro processo mantém o arquivo bloqueado',
  VIEW_STOPPED: 'uma visão parou',
  CLOSED: 'interrompido',
  MISCONFIGURED: 'a configuração não funciona',
  SERVICE_NOT_CONFIGURED: 'o serviço não está configurado',
  BODY_CONSUMED: 'o receptor está mal instalado',
  REMOTE_ADDRESS_MISSING: 'o receptor está mal instalado',
  KEYS_MISSING: 'falta o chaveiro',
  KEYS_MISMATCH: 'o chaveiro é de outro registro',
  NOT_OURS: 'não é um registro do averba, ou é de uma versão mais nova',
  CORRUPT: 'o registro contradiz a si mesmo',
  MOVED: 'o registro continua em outro lugar',
  ROLLED_BACK: 'o registro está atrás do que já foi visto',
  ENDLESS: 'o relógio simulado não chega ao fim',
  NOTHING_DUE: 'o relógio simulado não tem o que esperar',

  // Commands.
  'Consents, identity validations and customs webhooks, kept in an append-only log.':
    'Consentimentos, validações de identidade e webhooks de comércio exterior, em um registro só de acréscimos.',
  'Write averba.config.ts with every option, its meaning and the source of its value.':
    'Escreve averba.config.ts com cada opção, o que significa e de onde vem o seu valor.',
  'Demonstrate every lifecycle against simulated services over real TLS, on a SQLite file.':
    'Demonstra todos os ciclos com serviços simulados, TLS de verdade e um arquivo SQLite.',
  'Serve the simulated services over TLS on loopback, until stopped.':
    'Oferece os serviços simulados com TLS nesta máquina, até ser parado.',
  'Let the simulated portal notify a receiver on this machine, without root and without port 443.':
    'Faz o portal simulado notificar um receptor nesta máquina, sem root e sem a porta 443.',
  'Let the portal of averba dev send one notification.': 'Faz o portal do averba dev enviar uma notificação.',
  'Print the script with which a shell completes the commands and options.':
    'Mostra o script com que o shell completa comandos e opções.',
  'Run one or more configurations until stopped: calls, schedules, handlers, receivers.':
    'Executa uma ou mais configurações até ser parado: chamadas, horários, tratadores, receptores.',
  'Show at a glance what is owed, failing, parked, expiring or about to be deleted, and what to do.':
    'Mostra de relance o que está pendente, falhando, suspenso, por expirar ou por ser excluído, e o que fazer.',
  'Print events of the log, the newest last. Personal data is sealed and not shown.':
    'Mostra eventos do registro, os mais novos por último. Dados pessoais ficam lacrados e não aparecem.',
  'Show one stream: the state of its machine, its open calls and its last events.':
    'Mostra um fluxo: o estado da sua máquina, as chamadas em aberto e os últimos eventos.',
  'Calls to the services that have not ended.': 'Chamadas aos serviços que não terminaram.',
  'List the calls that have not ended: why each waits, until when, and what you can do.':
    'Lista as chamadas que não terminaram: por que cada uma espera, até quando e o que se pode fazer.',
  'Show one call: what it is, why it waits, how often it was attempted, and what was answered.':
    'Mostra uma chamada: o que é, por que espera, quantas vezes foi tentada e o que foi respondido.',
  'Release parked or deferred calls: they are due at once.': 'Libera chamadas suspensas ou adiadas: vencem já.',
  'Hold calls back until somebody releases them.': 'Segura chamadas até que alguém as libere.',
  'Give up calls that were not done: approvals, validations, changes of subscriptions. They are never sent.':
    'Desiste de chamadas não feitas: aprovações, validações, alterações de inscrições. Nunca são enviadas.',
  'Consents of data subjects.': 'Consentimentos de titulares.',
  'List the consents as last known, those that expire first at the top, without personal data.':
    'Lista os consentimentos como se conhecem, os que expiram antes primeiro, sem dados pessoais.',
  'Read the consents of data subjects from the service: of one, or of all with consents of a controller.':
    'Lê do serviço os consentimentos de titulares: de um, ou de todos com consentimentos de um controlador.',
  'Ask the service to deny pending consents.': 'Pede ao serviço que negue consentimentos pendentes.',
  'Ask the service to revoke active consents.': 'Pede ao serviço que revogue consentimentos ativos.',
  'Give up a denial or revocation that has not been made: it is no longer asked for.':
    'Desiste de uma negação ou revogação que não foi feita: deixa de ser pedida.',
  'Paid validations of identities.': 'Validações pagas de identidade.',
  'List the paid validations, the newest first, without any data of persons.':
    'Lista as validações pagas, as mais novas primeiro, sem dados de pessoas.',
  'Record whether an inconclusive validation was charged, as you found out at the service.':
    'Anota se uma validação inconclusiva foi cobrada, como você apurou no serviço.',
  'The inbox: notifications of the portal.': 'A caixa de entrada: notificações do portal.',
  'List the notifications, the newest first, without their contents.':
    'Lista as notificações, as mais novas primeiro, sem o conteúdo.',
  'Show one notification and its handlers. Its content is shown with --data only.':
    'Mostra uma notificação e seus tratadores. O conteúdo só aparece com --data.',
  'Call handlers again now: of these notifications, or all that failed.':
    'Chama tratadores de novo já: os destas notificações, ou todos os que falharam.',
  'Followers of the log and handlers of notifications.': 'Seguidores do registro e tratadores de notificações.',
  'List the followers of the log and the handlers of notifications: where each is, and which are parked.':
    'Lista os seguidores do registro e os tratadores de notificações: onde cada um está e quais estão suspensos.',
  'Let parked followers try their event again. The log keeps who decided it.':
    'Faz seguidores suspensos tentarem o evento de novo. O registro guarda quem decidiu.',
  'Forget followers that no process runs any longer. The log keeps who decided it.':
    'Esquece seguidores que nenhum processo executa mais. O registro guarda quem decidiu.',
  'Let handlers that failed go on without notifications that a person has dealt with.':
    'Deixa tratadores que falharam seguirem sem notificações de que uma pessoa já cuidou.',
  'Let a parked follower go on after the event that it could not handle. The log keeps who decided it.':
    'Faz um seguidor suspenso continuar depois do evento que não conseguiu tratar. O registro guarda quem decidiu.',
  'Subscriptions at the portal.': 'Inscrições no portal.',
  'List our subscriptions as last known: their health, and when the portal will delete one.':
    'Lista as nossas inscrições como se conhecem: a saúde de cada uma e quando o portal a excluirá.',
  'Rotate the derived secret of a subscription: both secrets are accepted while the portal changes.':
    'Troca o segredo derivado de uma inscrição: ambos são aceitos enquanto o portal muda.',
  'Read the failure records of a day and the day before, and put missing notifications into the inbox.':
    'Lê os registros de falha de um dia e do anterior, e põe na caixa de entrada as notificações que faltam.',
  'Show the changes that make the subscriptions at the portal match the declared ones.':
    'Mostra as alterações que igualam as inscrições do portal às declaradas.',
  'Apply a plan: make the subscriptions at the portal match the declared ones.':
    'Aplica um plano: iguala as inscrições do portal às declaradas.',
  'Read the failure records of a day at the portal: deliveries that did not reach you.':
    'Lê os registros de falha de um dia no portal: entregas que não chegaram a você.',
  'Erase a data subject: the key, the sealed parts and their index entries. All events stay. It cannot be undone.':
    'Elimina um titular: a chave, as partes lacradas e as entradas do índice. Os eventos ficam. Não pode ser desfeito.',
  'Report what is held about a data subject, whether a consent was valid, or what was processed.':
    'Relata o que se guarda sobre um titular, se um consentimento valia, ou o que foi tratado.',
  'Verify a log: signatures, tree, parts, decisions and views, and report the level that it reaches.':
    'Verifica um registro: assinaturas, árvore, partes, decisões e visões, e relata o nível que alcança.',
  'Export a log to a folder that anyone can verify, with averba or only with Python and openssl.':
    'Exporta um registro para uma pasta que qualquer um verifica, com o averba ou só com Python e openssl.',
  'Write the proof that one event is in the log: a C2SP tlog-proof, with the event in it.':
    'Escreve a prova de que um evento está no registro: um tlog-proof do C2SP, com o evento.',
  'Repeat every recorded decision, and report the first one with a different result.':
    'Repete cada decisão registrada e relata a primeira com resultado diferente.',
  'Copy a store, which may be in use, into one new file, and check the copy.':
    'Copia um registro, que pode estar em uso, para um arquivo novo, e confere a cópia.',
  'Make a store from a backup, and check it before it gets its name.':
    'Faz um registro a partir de uma cópia, e o confere antes de dar-lhe o nome.',
  'Let a log continue where it is: one that its server put back to an earlier state, or whose new place is lost.':
    'Faz continuar um registro onde está: um que o servidor fez voltar a um estado anterior, ou cujo novo lugar se perdeu.',
  'Move a log, such as from a file to PostgreSQL: copy it with its keyring, and prove that both are equal.':
    'Muda um registro de lugar, como de um arquivo para o PostgreSQL: copia-o com o chaveiro e prova que são iguais.',
  'Rebuild the views from the log, while the present ones serve, and report which rows differed.':
    'Refaz as visões a partir do registro, enquanto as atuais servem, e relata as linhas que diferiam.',
  'Wrap the keys of a log under another root key, and overwrite its former keyring.':
    'Protege as chaves de um registro com outra chave raiz, e sobrescreve o chaveiro anterior.',
  'Print the SQL statements that migrate the tables of a store to this version. Runs none.':
    'Mostra os comandos SQL que levam as tabelas a esta versão. Não executa nenhum.',
  'Print the SQL statements that give a role the least rights with which its processes work. Runs none.':
    'Mostra os comandos SQL que dão a um papel os menores direitos com que os processos funcionam. Não executa nenhum.',
  'Print the state machines, for the tools of Stately or as Mermaid diagrams.':
    'Mostra as máquinas de estados, para as ferramentas da Stately ou como diagramas Mermaid.',

  'Serve a web page on this machine that shows the log: what waits, consents, the log as it was, charts.':
    'Oferece uma página web nesta máquina que mostra o registro: o que espera, consentimentos, o passado, máquinas.',

  // Options and arguments.
  'also act: release calls, replay notifications, decide on consents, reveal data; with --actor':
    'também age: libera chamadas, trata notificações, decide consentimentos, revela dados; com --actor',
  'the port on loopback; by default a free one': 'a porta nesta máquina; por padrão, uma livre',
  'Whoever has the printed address may do what the page does: it holds a token, and is not for others.\nExit codes: 0 stopped by a signal, 1 it could not start.':
    'Quem tem o endereço mostrado pode fazer o que a página faz: ele contém um token, e não é para outros.\nCódigos de saída: 0 parado por um sinal, 1 não pôde começar.',
  'print one JSON object': 'mostra um objeto JSON',
  'print one JSON object on each line': 'mostra um objeto JSON em cada linha',
  'print one JSON object on the last line': 'mostra um objeto JSON na última linha',
  'print one JSON object, without the sent content, which may be personal data':
    'mostra um objeto JSON, sem o conteúdo enviado, que pode ter dados pessoais',
  'print their addresses as one JSON object on the first line': 'mostra os endereços como objeto JSON na 1ª linha',
  'accepted as by every command; the output is always JSON lines':
    'aceito como em todo comando; a saída é sempre em linhas JSON',
  'accepted as by every command; the output is always the script':
    'aceito como em todo comando; a saída é sempre o script',
  'write one JSON object: the default': 'escreve um objeto JSON: o padrão',
  'the configuration': 'a configuração',
  'the configuration, or one for each log': 'a configuração, ou uma para cada registro',
  'the configuration: averba.config.ts by default': 'a configuração: por padrão, averba.config.ts',
  'the configuration that names the log: this or --store is needed':
    'a configuração que indica o registro: exige-se esta opção ou --store',
  'the keyring, when it is not beside the file: that of a log on PostgreSQL':
    'o chaveiro, quando não está ao lado do arquivo: o de um registro no PostgreSQL',
  'the keyring; by default the one beside the store or the backup':
    'o chaveiro; por padrão, o que está ao lado do registro ou da cópia',
  'the environment variable that holds the root key, when the keyring does not':
    'a variável de ambiente com a chave raiz, quando o chaveiro não a tem',
  'the environment variable that holds the new root key; by default the keyring gets one of its own':
    'a variável de ambiente com a nova chave raiz; por padrão, o chaveiro ganha a sua própria',
  'how many to list': 'quantos listar',
  'how many to print; by default 100, and with --after all': 'quantos mostrar; por padrão 100, e com --after todos',
  'who acts, such as the number of an agent: kept in clear; by default AVERBA_ACTOR':
    'quem age, como o número de um atendente: guardado em claro; por padrão, AVERBA_ACTOR',
  'who requested it, such as the number of a request: kept in clear':
    'a pedido de quem, como o número de um pedido: guardado em claro',
  'the purpose, such as the number of a request: kept in clear': 'a finalidade, como o número do pedido: fica em claro',
  'the legal basis, such as "LGPD art. 18, VI": kept in clear': 'a base legal, como "LGPD art. 18, VI": fica em claro',
  'show the personal data itself, with --actor and --purpose: the log keeps who saw it':
    'mostra os próprios dados pessoais, com --actor e --purpose: o registro guarda quem viu',
  'why: kept sealed, as data of the person': 'por quê: guardado lacrado, como dado da pessoa',
  'how you found out: kept sealed, as data of the person': 'como você apurou: guardado lacrado, como dado da pessoa',
  'only calls in this state; by default parked': 'só chamadas neste estado; por padrão, parked',
  'only calls in this state; by default deferred': 'só chamadas neste estado; por padrão, deferred',
  'only calls to this service': 'só chamadas a este serviço',
  'only calls of this type, such as consentService.changeStatus': 'só deste tipo, como consentService.changeStatus',
  'only calls of this stream, such as consent-…': 'só chamadas deste fluxo, como consent-…',
  'the id of averba effects list': 'o identificador de averba effects list',
  'the ids of the calls; without ids all calls that the options select':
    'os identificadores das chamadas; sem eles, todas as que as opções selecionam',
  'only those of this controller': 'só os deste controlador',
  'only those with this status': 'só com este status',
  'only those of this data subject': 'só os deste titular',
  'only those whose denial or revocation has not been made at the service':
    'só aqueles cuja negação ou revogação não foi feita no serviço',
  'the streams of averba consents list; without them all that the options select':
    'os fluxos de averba consents list; sem eles, todos os que as opções selecionam',
  "the host's id of averba validations list": 'o identificador da aplicação, de averba validations list',
  'it was charged, and its result is lost': 'foi cobrada, e o resultado se perdeu',
  'it was not charged': 'não foi cobrada',
  'only those in this state': 'só neste estado',
  'only those of this event': 'só as deste evento',
  'the id of averba notifications list': 'o identificador de averba notifications list',
  'the ids of averba notifications list; without ids all with a handler that is failing or parked':
    'os identificadores de averba notifications list; sem eles, todas com um tratador que falha ou está suspenso',
  'only the handlers that failed: always so without ids': 'só os tratadores que falharam: sempre assim sem ids',
  'the name of averba followers list': 'o nome de averba followers list',
  'the ids of averba notifications list': 'os identificadores de averba notifications list',
  'the names of averba followers list': 'os nomes de averba followers list',
  'also those that we deleted': 'também as que nós excluímos',
  'the event of the subscription': 'o evento da inscrição',
  "one of the last thirty days, in Brasilia; by default the portal's today":
    'um dos últimos trinta dias, em Brasília; por padrão, o hoje do portal',
  'go on with new events until stopped': 'continua com os eventos novos até ser parado',
  'the events after this position, in place of the last ones': 'os eventos depois desta posição, em vez dos últimos',
  'only these types, such as consent.revoked': 'só estes tipos, como consent.revoked',
  'only this kind of streams, such as consent': 'só esta espécie de fluxos, como consent',
  'only this stream': 'só este fluxo',
  'such as consent-…: averba log and the lists name them': 'como consent-…: averba log e as listas os mostram',
  'as it was known then; by default now': 'como se sabia então; por padrão, agora',
  'bash, zsh or fish': 'bash, zsh ou fish',
  'used by the scripts': 'usado pelos scripts',
  'a fault from the start; may be repeated': 'uma falha desde o início; pode ser repetida',
  'a file or a schema that does not exist yet': 'um arquivo ou um esquema que ainda não existe',
  'a made-up chaveSecreta for the subscription of your receiver':
    'uma chaveSecreta inventada para a inscrição do seu receptor',
  'a new file to write it to; by default standard output': 'um arquivo novo onde escrever; por padrão, a saída padrão',
  'a new folder': 'uma pasta nova',
  'a new folder for the certificates, or that of an earlier run, which goes on; by default a temporary one':
    'uma pasta nova para os certificados, ou a de uma execução anterior, que continua; por padrão, uma temporária',
  'a signed checkpoint that was kept elsewhere; by default <store>.mark':
    'um checkpoint assinado guardado em outro lugar; por padrão, <store>.mark',
  'add the sealed parts, and the keys that open only the parts of this event':
    'acrescenta as partes lacradas, e as chaves que abrem só as partes deste evento',
  'also read the whole file, and compare all its parts with each other':
    'também lê o arquivo inteiro e compara todas as partes entre si',
  'also request one token from the gateway': 'também pede um token ao gateway',
  'another role, which may read: for audits and reports': 'outro papel, que pode ler: para auditorias e relatórios',
  'continue the log under a new name, even if later events are lost':
    'continua o registro com outro nome, mesmo que eventos posteriores se percam',
  'count subscriptions of others to declared events as changes':
    'conta como alterações as inscrições de outros nos eventos declarados',
  'delete our subscriptions that are no longer declared': 'exclui as nossas inscrições que já não são declaradas',
  'erase also when a denial or revocation has not been made: nobody asks for it after that':
    'elimina mesmo que uma negação ou revogação não tenha sido feita: depois ninguém mais a pede',
  'its body': 'o conteúdo',
  'its position, or its id as <stream>/<version>': 'a posição, ou o identificador como <stream>/<version>',
  'the form': 'a forma',
  'kinds of parts that the law requires to keep, such as validation.result':
    'espécies de partes que a lei manda conservar, como validation.result',
  'make ids, tokens and random faults repeatable': 'torna repetíveis identificadores, tokens e falhas aleatórias',
  'only these views': 'só estas visões',
  'only this machine, including decisions of its other versions':
    'só esta máquina, também as decisões das suas outras versões',
  'overwrite an existing configuration': 'sobrescreve uma configuração existente',
  'the language of the report, by default pt-BR, and of messages, by default that of LANG':
    'o idioma do relatório, por padrão pt-BR, e das mensagens, por padrão o de LANG',
  'report the operations with personal data of a period, of all persons: --from and --until':
    'relata as operações com dados pessoais de um período: --from e --until',
  'report whether this consent was valid, with the proof and --at: its stream, or with the subject its id at the service':
    'relata se este consentimento valia, com a prova e --at: o seu fluxo, ou, com o titular, o seu identificador no serviço',
  'the database': 'o banco de dados',
  'store the notifications that are not in the inbox yet': 'guarda as notificações que faltam na caixa de entrada',
  'take over subscriptions of others to declared events': 'assume inscrições de outros nos eventos declarados',
  'the address in 127.0.0.0/8 that notifications come from': 'o endereço em 127.0.0.0/8 de onde vêm as notificações',
  'the address to listen on, such as 0.0.0.0 in a container; by default that of loopback':
    'o endereço onde escutar, como 0.0.0.0 em um contêiner; por padrão, só esta máquina',
  'the backup to make; an existing file is not overwritten': 'a cópia a fazer; um arquivo existente não é sobrescrito',
  'the beginning of the period, included': 'o começo do período, incluído',
  'the behaviour that the contracts leave open': 'o comportamento que os contratos deixam em aberto',
  'the data subject; without it the CPF is read from standard input': 'o titular; sem ele, o CPF vem da entrada padrão',
  'the end of the period, not included': 'o fim do período, não incluído',
  'the end, such as 1000 or 2026-01-31, which is the beginning of that day':
    'o fim, como 1000 ou 2026-01-31, que é o começo desse dia',
  'the events to subscribe to': 'os eventos em que se inscrever',
  'the file of the log, or the address of its schema on PostgreSQL; close every engine on it first': `${logFile}; feche antes tudo o que o usa`,
  'the file that averba backup made': 'o arquivo que averba backup fez',
  'the file to make; an existing file is not overwritten': 'o arquivo a fazer; um existente não é sobrescrito',
  'the first of five ports, the last for the control server; by default free ones, or the former':
    'a primeira de cinco portas, a última para o servidor de controle; por padrão, portas livres ou as anteriores',
  'the folder for the log; by default a new temporary folder': 'a pasta do registro; por padrão, uma temporária nova',
  'the folder to write it to': 'a pasta onde escrever',
  'the hash of the plan that averba plan showed, in place of --plan':
    'o hash do plano que averba plan mostrou, em vez de --plan',
  'the instant in question': 'o instante em questão',
  'the machines; by default all': 'as máquinas; por padrão, todas',
  'the name in addresses and certificates; by default localhost': 'nome em endereços e certificados; padrão: localhost',
  'the new place of the keyring: for PostgreSQL, a file that every machine reaches':
    'o novo lugar do chaveiro: para o PostgreSQL, um arquivo que todas as máquinas alcançam',
  "the path of your receiver's address": 'o caminho no endereço do seu receptor',
  'the plan that averba plan --json printed; refused when it is no longer current':
    'o plano que averba plan --json mostrou; recusado quando já não é atual',
  'the present version of the tables; 0 is an empty database': 'a versão atual das tabelas; 0 é um banco vazio',
  'the role of the processes on PostgreSQL': 'o papel dos processos no PostgreSQL',
  'the schema of the log': 'o esquema do registro',
  'the schema on PostgreSQL': 'o esquema no PostgreSQL',
  'the verifier key line of another who signs checkpoints, or a file with lines; may be repeated':
    'a linha da chave de outro que assina checkpoints, ou um arquivo com linhas; pode ser repetida',
  'the verifier key line that it has to be signed with, or a file with the line; may be repeated':
    'a linha da chave com que tem de estar assinado, ou um arquivo com a linha; pode ser repetida',
  'use only what was known then; by default the same as --at': 'usa só o que se sabia então; padrão: o mesmo que --at',
  'write one HTML page that needs no other file': 'escreve uma página HTML que não precisa de outro arquivo',
  'write to a new file that only you can read; by default standard output':
    'escreve em um arquivo novo que só você pode ler; por padrão, a saída padrão',
  'your receiver; by default a receiver of averba': 'o seu receptor; por padrão, um receptor do averba',

  // Notes on commands.
  'Exit codes: 0 listed, 1 not listed.': 'Códigos de saída: 0 listado, 1 não listado.',
  'Exit codes: 0 printed, 1 the shell is unknown.': 'Códigos de saída: 0 mostrado, 1 o shell é desconhecido.',
  'Exit codes: 0 printed, or stopped by a signal, 1 not printed.':
    'Códigos de saída: 0 mostrado, ou parado por um sinal, 1 não mostrado.',
  'Exit codes: 0 shown, 1 there is none with this id.':
    'Códigos de saída: 0 mostrada, 1 nenhuma tem este identificador.',
  'Only one for which an event has waited for a day.\nExit codes: 0 all are removed, 1 one is not.':
    'Só um seguidor com evento à espera há um dia.\nCódigos de saída: 0 todos removidos, 1 algum não foi removido.',
  'Their handlers are called again only by a replay.\nExit codes: 0 all are accepted, 1 one was refused or not found.':
    'Só um replay chama de novo os tratadores.\nCódigos de saída: 0 todas aceitas, 1 uma recusada ou não encontrada.',
  'Exit codes: 0 skipped, 1 the follower is not parked.': 'Códigos de saída: 0 pulado, 1 o seguidor não está suspenso.',
  'Exit codes: 0 all are done, 2 one is not known yet: averba run continues it, 1 one was refused or declined.':
    'Códigos de saída: 0 todos feitos, 2 um ainda não se sabe: averba run continua, 1 um foi recusado.',
  'Exit codes: 0 all are accepted, 1 a call was refused or not found.':
    'Códigos de saída: 0 todas aceitas, 1 uma chamada foi recusada ou não encontrada.',
  'A process that runs performs them: averba run.\nExit codes: 0 all are accepted, 1 a call was refused or not found.': `${runs}Códigos de saída: 0 todas aceitas, 1 uma chamada foi recusada ou não encontrada.`,
  'A denial or revocation is given up by averba consents withdraw-end only.\nExit codes: 0 all are accepted, 1 a call was refused or not found.':
    'De uma negação ou revogação só se desiste com averba consents withdraw-end.\nCódigos de saída: 0 todas aceitas, 1 uma chamada foi recusada ou não encontrada.',
  'A process that runs calls the handlers: averba run.\nExit codes: 0 all are accepted, 1 one was refused or not found.': `Um processo em funcionamento chama os tratadores: averba run.\nCódigos de saída: 0 todas aceitas, 1 uma foi recusada ou não encontrada.`,
  'A process that runs calls them: averba run.\nExit codes: 0 all are accepted, 1 a follower is not parked.': `Um processo em funcionamento os chama: averba run.\nCódigos de saída: 0 todos aceitos, 1 um seguidor não está suspenso.`,
  'No service is contacted, and the log may be in use.\nExit codes: 0 nothing needs a person, 2 something does, 1 the log cannot be read.':
    'Nenhum serviço é chamado, e o registro pode estar em uso.\nCódigos de saída: 0 nada precisa de uma pessoa, 2 algo precisa, 1 o registro não pode ser lido.',
  'Nothing is sent. To pay again, the host validates with `again`.\nExit codes: 0 recorded, 1 not recorded.':
    'Nada é enviado. Para pagar de novo, a aplicação valida com `again`.\nCódigos de saída: 0 anotado, 1 não anotado.',
  'The portal is not read: averba plan does.\nExit codes: 0 listed, 1 not listed.':
    'O portal não é lido: averba plan o lê.\nCódigos de saída: 0 listado, 1 não listado.',
  'Exit codes: 0 done, 2 not known yet: averba run continues it, 1 not done.':
    'Códigos de saída: 0 feito, 2 ainda não se sabe: averba run continua, 1 não feito.',
  'Exit codes: 0 both days are read, 2 not known yet: averba run continues it, 1 not read.':
    'Códigos de saída: 0 os dois dias foram lidos, 2 ainda não se sabe: averba run continua, 1 não lidos.',
  'Exit codes: 0 all are read, 2 one is not yet: averba effects list shows why, 1 one was refused.':
    'Códigos de saída: 0 todos lidos, 2 um ainda não: averba effects list mostra por quê, 1 um foi recusado.',
  'averba charts --format mermaid draws the machine.\nExit codes: 0 shown, 1 no such stream.':
    'averba charts --format mermaid desenha a máquina.\nCódigos de saída: 0 mostrado, 1 não há este fluxo.',
  'Exit codes: 0 the records were read, 1 they were not.': 'Códigos de saída: 0 os registros foram lidos, 1 não foram.',
  'A CPF is read from standard input, since command lines appear in process lists and shell histories.\nA day begins and ends in Brasilia, and an instant without a zone is a time there.\nExit codes: 0 the report was written, 1 it was not.': `${cpfNote}Um dia começa e termina em Brasília, e um instante sem fuso é um horário de lá.\nCódigos de saída: 0 o relatório foi escrito, 1 não foi.`,
  'A CPF is read from standard input, since command lines appear in process lists and shell histories.\nRepeated with --subject and the same --keep, the command prints the first receipt again. Repeated without that --keep, it erases what was kept. The services are not informed: revoke consents first.\nAfter an interruption, run this command or an engine again: it continues.\nWhile a denial or revocation of the person has not been made, it is refused without --give-up-ends.\nExit codes: 0 complete, 1 not done, or not complete yet.': `${cpfNote}Repetido com --subject e o mesmo --keep, mostra de novo o primeiro recibo. Repetido sem esse --keep, elimina o que foi conservado. Os serviços não são avisados: revogue antes os consentimentos.\nDepois de uma interrupção, execute de novo este comando ou um processo: ele continua.\nEnquanto uma negação ou revogação da pessoa não foi feita, é recusado sem --give-up-ends.\nCódigos de saída: 0 completo, 1 não feito, ou ainda não completo.`,
  'Calls that were pending in the backup may have been made since, and would be made AGAIN: check them before an engine opens the store. Never run two stores of one log.\nExit codes: 0 done, 1 not done.':
    'Chamadas pendentes na cópia podem ter sido feitas desde então, e seriam feitas DE NOVO: confira-as antes que um processo abra o registro. Nunca execute dois registros com a mesma origem.\nCódigos de saída: 0 feito, 1 não feito.',
  'Ctrl-C interrupts it; the next rebuild continues from there.\nExit codes: 0 rebuilt and equal, 1 rows differed and were corrected, or it was interrupted.':
    'Ctrl-C interrompe; a próxima vez continua dali.\nCódigos de saída: 0 refeitas e iguais, 1 linhas diferiam e foram corrigidas, ou foi interrompido.',
  'Exit codes: 0 held (it continues a checkpoint from outside) or anchored; 1 it cannot be read; 2 broken; 3 only self-consistent: nothing from outside confirms it.':
    'Códigos de saída: 0 confirmado (continua um checkpoint de fora) ou ancorado; 1 não pode ser lido; 2 violado; 3 só coerente consigo: nada de fora o confirma.',
  'Personal data stays sealed: it cannot be read without the keyring.\nExit codes: 0 done, 1 not done.':
    'Dados pessoais ficam lacrados: não podem ser lidos sem o chaveiro.\nCódigos de saída: 0 feito, 1 não feito.',
  'Refused commands are not in the log, and are not replayed.\nNo handler is called: averba notifications replay handles notifications again.\nExit codes: 0 all results are equal, 1 the log cannot be read or nothing was repeated, 2 a result is different.':
    'Comandos recusados não estão no registro, e não são repetidos.\nNenhum tratador é chamado: para tratar notificações de novo, averba notifications replay.\nCódigos de saída: 0 todos os resultados são iguais, 1 o registro não pode ser lido ou nada foi repetido, 2 um resultado é diferente.',
  'Serves /healthz, /readyz and /metrics on run.host and run.port, by default 127.0.0.1:9464.\nReceivers of several logs on one port are distinguished by path.\nAfter SIGTERM or SIGINT it finishes the work under way, and stops; a second signal stops it at once.\nExit codes: 0 stopped by a signal, 1 it could not start, 130 and 143 stopped by a second signal, 70 a bug.':
    'Oferece /healthz, /readyz e /metrics em run.host e run.port, por padrão 127.0.0.1:9464.\nReceptores de vários registros em uma porta são distinguidos pelo caminho.\nDepois de SIGTERM ou SIGINT termina o que está em andamento e para; um segundo sinal o para na hora.\nCódigos de saída: 0 parado por um sinal, 1 não pôde começar, 130 e 143 parado por um segundo sinal, 70 um defeito.',
  'The keyring is not in the backup: back up <store>.keys in another place.\nExit codes: 0 done, 1 not done.':
    'O chaveiro não está na cópia: copie <store>.keys para outro lugar.\nCódigos de saída: 0 feito, 1 não feito.',
  'The log ends at its former place with log.moved: nothing is recorded there any more, and opening it fails with MOVED. After an interruption, the same command goes on. Keep the former keyring until the new one is backed up, then destroy it: erasures after the move do not reach it.\nExit codes: 0 moved, 1 not moved.':
    'O registro termina no lugar antigo com log.moved: nada mais é gravado ali, e abri-lo falha com MOVED.\nDepois de uma interrupção, o mesmo comando continua. Guarde o chaveiro antigo até que o novo tenha cópia, e então destrua-o: eliminações depois da mudança não o alcançam.\nCódigos de saída: 0 mudado, 1 não mudado.',
  'The log is only read, and may be in use. Each service receives only a GET / request: no paid call, and no token request without --token. The clock may differ from those of the services by 60 s.\nExit codes: 0 no problem, 1 a problem was found, or the store cannot be opened.':
    'O registro só é lido, e pode estar em uso. Cada serviço recebe só um pedido GET /: nenhuma chamada paga, e nenhum pedido de token sem --token. O relógio pode diferir dos relógios dos serviços em 60 s.\nCódigos de saída: 0 nenhum problema, 1 há um problema, ou o registro não pode ser aberto.',
  'The owner of the tables runs them, as a superuser or a member of these roles, once the tables are there: after averba migrations --dialect postgres, or the first opening. The role can neither change nor remove an event.':
    'O dono das tabelas os executa, como superusuário ou membro destes papéis, quando as tabelas existem: depois de averba migrations --dialect postgres, ou da primeira abertura. O papel não pode mudar nem remover um evento.',
  'The portal is only read, and no secret is shown.\nExit codes: 0 no changes, 2 there are changes, 1 the plan could not be made.':
    'O portal só é lido, e nenhum segredo é mostrado.\nCódigos de saída: 0 nada muda, 2 há alterações, 1 o plano não pôde ser feito.',
  'Verify it with averba verify <file> --key <line>. The file of a disclosure can be read only by you, since it opens personal data; the log records who disclosed it and for what purpose.\nExit codes: 0 done, 1 not done.':
    'Confira com averba verify <file> --key <line>. O arquivo de uma revelação só você pode ler, pois abre dados pessoais; o registro guarda quem revelou e com que finalidade.\nCódigos de saída: 0 feito, 1 não feito.',
  'Without --plan or --hash a new plan is made and applied. Each event has its own result.\nExit codes: 0 all changes are done, 1 a change is not done.':
    'Sem --plan ou --hash um plano novo é feito e aplicado. Cada evento tem o seu resultado.\nCódigos de saída: 0 todas as alterações feitas, 1 uma não foi feita.',

  // What commands print.
  ID: 'ID',
  CALL: 'CHAMADA',
  STATE: 'ESTADO',
  STATUS: 'STATUS',
  NAME: 'NOME',
  POSITION: 'POSIÇÃO',
  EVENT: 'EVENTO',
  HEALTH: 'SAÚDE',
  ENDPOINT: 'ENDEREÇO',
  RECEIVED: 'RECEBIDA',
  REQUESTED: 'PEDIDA',
  HANDLERS: 'TRATADORES',
  CONSENT: 'CONSENTIMENTO',
  CONTROLLER: 'CONTROLADOR',
  'WHAT TO DO': 'O QUE FAZER',
  'WHY, UNTIL WHEN, WHAT TO DO': 'POR QUÊ, ATÉ QUANDO, O QUE FAZER',
  'call|calls': 'chamada|chamadas',
  'consent|consents': 'consentimento|consentimentos',
  'day|days': 'dia|dias',
  'event|events': 'evento|eventos',
  'failure record|failure records': 'registro de falha|registros de falha',
  'follower|followers': 'seguidor|seguidores',
  'notification|notifications': 'notificação|notificações',
  'subject|subjects': 'titular|titulares',
  'validation|validations': 'validação|validações',
  'No calls.': 'Nenhuma chamada.',
  'No consents.': 'Nenhum consentimento.',
  default: 'padrão',
  required: 'obrigatória',
  'again at {}': 'de novo em {}',
  'attempt|attempts': 'tentativa|tentativas',
  'No events.': 'Nenhum evento.',
  'Nothing was repeated: look at --until and --against.': 'Nada foi repetido: veja --until e --against.',
  'No followers.': 'Nenhum seguidor.',
  'No notifications.': 'Nenhuma notificação.',
  'No subscriptions.': 'Nenhuma inscrição.',
  'No validations.': 'Nenhuma validação.',
  'There are more: --limit shows them.': 'Há mais: --limit as mostra.',
  'Nothing needs a person.': 'Nada exige ação.',
  'Nothing was found.': 'Nada foi encontrado.',
  'Nothing was found: only {} calls were looked for. --state selects others.':
    'Nada foi encontrado: só se procuraram chamadas {}. --state seleciona outras.',
  'The content was destroyed.': 'O conteúdo foi destruído.',
  'WRONG {}: {}': 'PROBLEMA {}: {}',
  'WRONG {}: {}. See: {}': 'PROBLEMA {}: {}. Veja: {}',
  accepted: 'aceito',
  done: 'feito',
  failed: 'falhou',
  found: 'achado',
  recorded: 'registrado',
  'not tried': 'não tentado',
  'Nothing was done.': 'Nada foi feito.',
  log: 'registro',
  calls: 'chamadas',
  consents: 'consentimentos',
  subscriptions: 'inscrições',
  notifications: 'notificações',
  followers: 'seguidores',
  certificate: 'certificado',
  portalCertificate: 'certificado (portal)',
  receiverCertificate: 'certificado (receptor)',
  state: 'estado',
  waits: 'espera',
  due: 'vence',
  attempts: 'tentativas',
  stream: 'fluxo',
  history: 'histórico',
  answer: 'resposta',
  received: 'recebida',
  handler: 'tratador',
  content: 'conteúdo',
  by: 'por',
  unexpected: 'inesperado',
  'none open': 'nenhuma em aberto',
  '{} left': 'restam {}',
  '{} expire within {} days': '{} por expirar em {} dias',
  '{}, {} with failing deliveries': '{}, com entregas que falham: {}',
  '{} parked, {} to be retried': 'suspensas: {}, por tentar de novo: {}',
  '{}, {} parked, at most {} behind': '{}, suspensos: {}, atraso máximo: {}',
  'WRONG validations: {} may have been done and paid. See: {}':
    'PROBLEMA validações: {} em dúvida, talvez com cobrança. Veja: {}',
  'WRONG subscriptions: the portal deleted {}. See: {}': 'PROBLEMA inscrições: o portal excluiu {}. Veja: {}',
  '{}: the portal deletes it {}': '{}: o portal a exclui {}',
  '{} failures since {}: the portal deletes it {} [recover]': '{} falhas desde {}: o portal a exclui {} [recover]',
  'deleted by us': 'excluída por nós',
  'deleted by the portal [averba plan]': 'excluída pelo portal [averba plan]',
  'the portal has other secrets [averba plan]': 'o portal tem outros segredos [averba plan]',
  'waits for its next event': 'à espera do próximo evento',
  'the day before': 'o dia anterior',
  today: 'hoje',
  'an event waits since {} for a process that runs it [remove after a day]':
    'um evento espera desde {} por um processo que o execute [remove depois de um dia]',
  'at work in a process': 'em uso por um processo',
  'perhaps done and paid, with the trace id {}: find out [resolve]':
    'talvez feita e paga, com o trace id {}: apure [resolve]',
  'HTTP {} ({}) at {}, not understood': 'HTTP {} ({}) em {}, não compreendida',
  '--data shows its beginning, which may hold personal data': '--data mostra o começo, que pode ter dados pessoais',
  'destroyed with its person': 'destruído com a pessoa',
  '{} bytes, sealed: --data shows it': '{} bytes, lacrados: --data os mostra',
  'it arrived {} times': 'chegou {} vezes',
  'parked at the event {}: {} [retry, skip]': 'suspenso no evento {}: {} [retry, skip]',
  'tries the event {} again {}: {}': 'tenta de novo o evento {} em {}: {}',
  '{} skips the event at {}.': '{} pula o evento na posição {}.',
  '{}, version {}, known until position {}': '{}, versão {}, conhecido até a posição {}',
  'paid again as {}': 'paga de novo como {}',
  charged: 'cobrada',
  'not charged': 'não cobrada',
  '{}: recorded as charged.': '{}: anotada como cobrada.',
  '{}: recorded as not charged.': '{}: anotada como não cobrada.',
  'its end is wanted since {} [{}, withdraw-end]': 'o fim é pedido desde {} [{}, withdraw-end]',
  'its end is wanted since {}, and it is not listed [{}, withdraw-end]':
    'o fim é pedido desde {}, e ele já não é listado [{}, withdraw-end]',
  'asked to become {}: {}': 'pedido para passar a {}: {}',
  'expires {}': 'expira em {}',
  'declined ({})': 'recusado ({})',
  'not done yet, tried again at {} ({})': 'ainda não feito, tentado de novo em {} ({})',
  'recorded, and not sent yet': 'registrado, e ainda não enviado',
  'perhaps done: a reading will show what became of it': 'talvez feito: uma leitura mostrará o que houve',
  'perhaps done: a person has to find out what became of it': 'talvez feito: uma pessoa tem de apurar o que houve',
  '{}: {} recovered of {}.': '{}: {} recuperadas de {}.',

  // Backups, erasures, plans, proofs and checks.
  'part|parts': 'parte|partes',
  'key|keys': 'chave|chaves',
  'row|rows': 'linha|linhas',
  'end|ends': 'fim|fins',
  'piece|pieces': 'trecho|trechos',
  'problem|problems': 'problema|problemas',
  'entry|entries': 'entrada|entradas',
  'index row|index rows': 'linha de índice|linhas de índice',
  'other key|other keys': 'outra chave|outras chaves',
  'other part|other parts': 'outra parte|outras partes',
  'sealed part|sealed parts': 'parte lacrada|partes lacradas',
  'failed delivery|failed deliveries': 'entrega falhou|entregas falharam',
  'change|changes': 'alteração|alterações',
  'No problems.': 'Nenhum problema.',
  'Nothing to do.': 'Nada a fazer.',
  'No delivery failed.': 'Nenhuma entrega falhou.',
  WRONG: 'ERRO ',
  'WRONG:': 'PROBLEMAS:',
  FAULT: 'FALHA',
  ignored: 'ignorado',
  unknown: 'indefinido',
  unreadable: 'ilegível',
  'none yet': 'nenhuma ainda',
  create: 'criar',
  change: 'alterar',
  adopt: 'adotar',
  leave: 'manter',
  delete: 'excluir',
  taken: 'ocupada',
  'take over': 'assumir',
  settled: 'feito',
  declined: 'recusado',
  deferred: 'adiado',
  stored: 'guardada',
  recovered: 'recuperada',
  equal: 'iguais',
  different: 'diferentes',
  'NOT equal': 'DIFERENTES',
  'plan {}': 'plano {}',
  '{}. To apply exactly this plan: averba apply --hash {}': '{}. Para aplicar este mesmo plano: averba apply --hash {}',
  'unreadable {} (look at its row in the portal)': 'ilegível {} (veja a linha no portal)',
  'without an id': 'sem identificador',
  ' (retried at {}: {})': ' (tentado de novo em {}: {})',
  ' (the next plan shows whether it was done)': ' (o próximo plano mostra se foi feito)',
  " ({}; --json prints the portal's own words)": ' ({}; --json mostra as palavras do portal)',
  'inbox not checked': 'caixa de entrada não conferida',
  '(unreadable time)': '(horário ilegível)',
  '  {} {}, {}{}': '  {} {}, {}{}',
  '{}, due from {}': '{}, a fazer a partir de {}',
  'Erased {} at {}: {}.': 'Eliminado {} em {}: {}.',
  'Kept, with the key: {}.': 'Conservado, com a chave: {}.',
  'Given up: {} of consents that had not been made at the service.':
    'Abandonado: {} de consentimentos, ainda por fazer no serviço.',
  'Cancelled {}, pending or unknown: {}.': 'Cancelado: {}, pendente ou de desfecho indefinido: {}.',
  'Not complete yet: run this command again with --subject, or run an engine.':
    'Ainda não completo: execute de novo este comando com --subject, ou um processo.',
  'Renewed with epoch {}: {}.': 'Renovado com a época {}: {}.',
  '{} bytes of the file were searched for {}: {} found.': '{} bytes do arquivo, procurados por {}: {} achados.',
  'It has no high-water mark yet: the next process says so, and makes one.':
    'Ainda não tem marca: o próximo processo o diz, e a cria.',
  'Not searched for, since the file was not rewritten: {}. Run VACUUM while nothing uses it.':
    'Não procurado, pois o arquivo não foi reescrito: {}. Execute VACUUM quando nada o usar.',
  'As long as the key is kept, backups of the store can open the data.':
    'Enquanto a chave for conservada, cópias do registro podem abrir os dados.',
  'Until {} a backup of the store with a backup of the keyring can open the data.':
    'Até {} uma cópia do registro com uma cópia do chaveiro pode abrir os dados.',
  'Since {} no backup can open the data.': 'Desde {} nenhuma cópia pode abrir os dados.',
  '{}: {}, {}, checked.': '{}: {}, {}, conferido.',
  '{} up to {}, {}': '{} até {}, {}',
  'Its parts open with the keyring {}, epochs {}.': 'As partes abrem com o chaveiro {}, épocas {}.',
  'The keyring is NOT in it: back up {}.keys too, in another place.':
    'O chaveiro NÃO está nela: copie também {}.keys, em outro lugar.',
  'These calls are open in the backup. A restored log may make those again that are not parked or unknown:':
    'Estas chamadas estão abertas na cópia. Um registro restaurado pode refazer as que não são suspensas nem indefinidas:',
  'It was erased already, on the request of {}:': 'Já tinha sido eliminado, a pedido de {}:',
  'It had been recorded otherwise before: the log keeps both.': 'Antes constava o contrário: o registro guarda ambos.',
  'The log of {} up to {} continues as {}, and has recorded that.':
    'O registro de {} até {} continua como {}, e guardou isso.',
  'Lost, according to the high-water mark: at least {}.': 'Perdido, segundo a marca: ao menos {}.',
  'These calls were pending then, and may have been made since. In the next process all but readings become unknown:':
    'Estas chamadas estavam pendentes, e podem ter sido feitas desde então. No próximo processo todas, menos leituras, passam a indefinidas:',
  '{}: {}, checked. Later events are not in it.': '{}: {}, conferido. Eventos posteriores não estão nele.',
  'Name the new place in each configuration: {}. Back up its keyring.':
    'Indique o novo lugar em cada configuração: {}. Faça cópia do seu chaveiro.',
  'Its keyring is {}.': 'O chaveiro é {}.',
  'The log continues as {}, and has recorded that.': 'O registro continua como {}, e guardou isso.',
  'A view has to be rebuilt: {}': 'Uma visão tem de ser refeita: {}',
  'Holds that were set after the backup are lost: set them again before a process with retention runs.':
    'Retenções ordenadas depois da cópia se perderam: ordene-as de novo antes que um processo com retention execute.',
  'No calls were pending when the backup was made.': 'Nenhuma chamada estava pendente quando a cópia foi feita.',
  'WARNING: these calls were pending then, and may have been made since. An engine that opens this\nstore makes them AGAIN, except unknown and parked ones, which wait for you. Check the records of\nthe services first:':
    'ATENÇÃO: estas chamadas estavam pendentes, e podem ter sido feitas desde então. Um processo que abre este\nregistro as faz DE NOVO, menos as indefinidas e as suspensas, que esperam por você. Confira antes os registros\ndos serviços:',
  'WARNING: these people were erased after the backup, and are BACK. Erase them again before anything else:':
    'ATENÇÃO: estas pessoas foram eliminadas depois da cópia, e VOLTARAM. Elimine-as de novo antes de mais nada:',
  'as they were': 'sem diferenças',
  '{} differed': 'diferenças: {}',
  'Interrupted: the next rebuild continues from here.': 'Interrompido: a próxima vez continua daqui.',
  '{} were copied, with the root {} at both places.': '{}: copiados, com a raiz {} nos dois lugares.',
  '{} now holds its own root key: the option keys must be absent.':
    '{} agora guarda a sua própria chave raiz: a opção keys tem de faltar.',
  '{} now opens with the root key {} only: the option keys must hold it.':
    '{} agora só abre com a chave raiz {}: a opção keys tem de contê-la.',
  '{}: {} and {} of {}.': '{}: {} e {} de {}.',
  'Its README says how to verify it. Also hand over its file "key" by another channel.':
    'O README diz como conferir. Entregue também o arquivo "key", por outro meio.',
  '{}: the disclosure of {}': '{}: a revelação de {}',
  '{}: the proof of {}': '{}: a prova de {}',
  '{} decisions up to {} were repeated.': '{} decisões até {} foram repetidas.',
  '{} were not, since their machine version is not available.': '{} não, pois a versão da máquina não está disponível.',
  'All results are equal to the recorded ones.': 'Todos os resultados são iguais aos registrados.',
  'At {}, in {}, {} has a different result:': 'Em {}, em {}, {} tem outro resultado:',
  'recorded  {}': 'registrado  {}',
  'decided   {}': 'decidido    {}',
  'NOT PROVEN: {}': 'NÃO PROVADO: {}',
  'Proven: this event is in the log, signed by {}:': 'Provado: este evento está no registro, assinado por {}:',
  'Its sealed part "{}", of {}: {}': 'A parte lacrada "{}", de {}: {}',
  'Not disclosed: {}': 'Não revelado: {}',
  'log          {}: {} events, root {}': 'registro     {}: {} eventos, raiz {}',
  'parts        {} present, {} erased': 'partes       {} presentes, {} eliminadas',
  'checkpoints  {}, the newest over {} events; held up to {}, anchored up to {}':
    'checkpoints  {}, o mais novo sobre {} eventos; confirmado até {}, ancorado até {}',
  'time stamp   over the checkpoint of {} events, at {}; its signature is not verified here':
    'carimbo      sobre o checkpoint de {} eventos, em {}; a assinatura não é conferida aqui',
  'level        {}': 'nível        {}',
  'This does not prove:': 'Isto não prova:',
  'file     {}, and {} in its -wal; {} of it free': 'arquivo  {}, e {} no seu -wal; {} livres',
  'log      {}: {} from {} to {}': 'registro {}: {} de {} a {}',
  'event    {} bytes on average, with everything that belongs to it':
    'evento   {} bytes em média, com tudo o que lhe pertence',
  'growth   {}: {}, about {}': 'aumento  {}: {}, cerca de {}',
  'keyring  {}: {}, mode {}, epochs {}; needed: {}': 'chaveiro {}: {}, modo {}, épocas {}; necessárias: {}',
  'keyring  {} is missing': 'chaveiro {} não existe',
  'view     {}, version {}, at {}': 'visão    {}, versão {}, em {}',
  'view     {}, version {}, stopped at {}': 'visão    {}, versão {}, parada em {}',
  'pending  none': 'pendente nada',
  pending: 'pendente',
  'settings {}': 'ajustes  {}',
  'checked  {}, {}': 'lidos    {}, {}',

  // To begin: init, simulate, dev and the demonstration.
  'Wrote {}. Next steps:': '{} foi escrito. Próximos passos:',
  '1. Delete the services in it that you do not use.': '1. Apague nele os serviços que você não usa.',
  '2. Set the remaining environment variables: {}.': '2. Defina as variáveis de ambiente que restam: {}.',
  '3. Set "type": "module" in package.json, and open the log: import config from \'./averba.config.ts\', then await openAverba(config).':
    '3. Ponha "type": "module" no package.json e abra o registro: import config from \'./averba.config.ts\', depois await openAverba(config).',
  'To try it without any account, start averba simulate: it writes a file with these variables.':
    'Para experimentar sem conta nenhuma, inicie averba simulate: escreve um arquivo com estas variáveis.',
  'consent service     {}/consentimento/v1': 'consentimentos      {}/consentimento/v1',
  'token service       {}': 'tokens              {}',
  'validation service  {}/{}/v2/validate/pf': 'validações          {}/{}/v2/validate/pf',
  'portal              {}/portal/api/ext/webhook': 'portal              {}/portal/api/ext/webhook',
  'control             {}': 'controle            {}',
  'certificates        {}, and others in its folder': 'certificados        {}, e outros na mesma pasta',
  'environment         {}, for the configuration of averba init':
    'ambiente            {}, para a configuração de averba init',
  'samples             CPF {}, CNPJ {}: made up, and known to all services':
    'exemplos            CPF {}, CNPJ {}: inventados, e conhecidos por todos os serviços',
  'Stop with Ctrl-C. --json prints all of this for programs.': 'Pare com Ctrl-C. --json dá tudo isto a programas.',
  'The last run here was killed: what came after it had started is lost.':
    'A última execução aqui foi interrompida à força: o que veio depois do seu início se perdeu.',
  'The simulated portal notifies {} of {}.': 'O portal simulado notifica {} de {}.',
  'a receiver of averba': 'um receptor do averba',
  'Your receiver serves TLS with {} and {}: both are new at each start.':
    'O seu receptor oferece TLS com {} e {}: ambos são novos a cada início.',
  'Send a notification from another terminal, in this folder: averba trigger {}':
    'Envie uma notificação de outro terminal, nesta pasta: averba trigger {}',
  'received {}: {} bytes, stored': 'recebida {}: {} bytes, guardada',
  'received a copy of it': 'recebida uma cópia dela',
  delivered: 'entregue',
  'not delivered: {}': 'não entregue: {}',
  'The consent service (mutual TLS), the token gateway, the validation service and the portal are running.':
    'O serviço de consentimentos (TLS mútuo), o gateway de tokens, o serviço de validações e o portal estão em execução.',
  'They use a virtual clock: this demonstration advances it by hours and days.':
    'Usam um relógio virtual: esta demonstração o adianta horas e dias.',
  'Two data subjects were enrolled, and their {} consents were read.':
    'Dois titulares foram inscritos, e os seus {} consentimentos foram lidos.',
  'One consent was read in full: "{}", with {} in its history.':
    'Um consentimento foi lido por inteiro: "{}", com {} no histórico.',
  'One was approved ({}), one denied ({}), one revoked ({}).':
    'Um foi aprovado ({}), um negado ({}), um revogado ({}).',
  'One approval was refused by averba, and no request was sent: {}.':
    'Uma aprovação foi recusada pelo averba, e nenhum pedido foi enviado: {}.',
  'One awareness record was listed and read in full: "{}".': 'Uma ciência foi listada e lida por inteiro: "{}".',
  'The login state was read, and a login address obtained, at {}.':
    'O estado do login foi lido, e um endereço de login obtido, em {}.',
  'A token was obtained and a person validated: name a {}, sex a {}.':
    'Um token foi obtido e uma pessoa validada: nome {}, sexo {}.',
  'An hour later {} call was answered 401, and the token was renewed once: {} validations in all.':
    'Uma hora depois {} chamada recebeu 401, e o token foi renovado uma vez: {} validações ao todo.',
  'Repeating the id gave the recorded result, and no request was sent.':
    'Repetir o identificador deu o resultado registrado, e nenhum pedido foi enviado.',
  'The portal was subscribed to {}.': 'Foram feitas no portal as inscrições em {}.',
  '{} notifications arrived, each stored before it was acknowledged.':
    '{} notificações chegaram, cada uma guardada antes de ser confirmada.',
  'One delivery failed while the receiver was down, and its content was read from the portal: {}':
    'Uma entrega falhou com o receptor parado, e o seu conteúdo foi lido do portal: {}',
  'Thirty days later the portal had deleted {}: "{}"': 'Trinta dias depois o portal havia excluído {}: "{}"',
  'All {} views were rebuilt from the log, and are {}.': 'As {} visões foram refeitas a partir do registro, e são {}.',
  'The events of the log (times in UTC, of the virtual clock):':
    'Os eventos do registro (horários em UTC, do relógio virtual):',
  'Wrote a page: {}': 'Página escrita: {}',
  'Wrote {}.': '{} foi escrito.',
  '{} events, {} notifications, {} token requests,\n{} deliveries of which {} failed, {} subscription\ndeleted by the portal, {} calls pending; views {}; {} s.':
    '{} eventos, {} notificações, {} pedidos de token,\n{} entregas, falhas: {}, {} inscrição\nexcluída pelo portal, {} chamadas pendentes; visões {}; {} s.',
  'The log is at {}': 'O registro está em {}',
  'Nothing listens there: start your receiver at the address that averba dev got as --to':
    'Nada escuta ali: inicie o seu receptor no endereço que averba dev recebeu em --to',
  'The receiver expects a secret: give averba dev the chaveSecreta of the subscription with --secret':
    'O receptor espera um segredo: dê ao averba dev a chaveSecreta da inscrição com --secret',
  "The receiver refuses this machine: configure it with receiver: { sources: ['127.0.0.0/8'] }":
    "O receptor recusa esta máquina: configure-o com receiver: { sources: ['127.0.0.0/8'] }",
  'Check a configuration and everything it needs, or with --store a log or a backup alone, and say what to do.':
    'Confere uma configuração e tudo de que precisa, ou com --store só um registro ou uma cópia, e diz o que fazer.',
  'Close every engine on it first. Copies of the former keyring still open with the former root key: destroy both.\nExit codes: 0 changed, 1 nothing was changed.':
    'Feche antes tudo o que o usa. Cópias do chaveiro anterior ainda abrem com a chave raiz anterior: destrua ambas.\nCódigos de saída: 0 trocada, 1 nada mudou.',
  'Close every engine on it first. It is checked, and continues under a new name, linked to the old one by an event. Calls that were pending then become unknown, except readings: they may have been made since. A high-water mark of your own is used when the configuration has it.\nExit codes: 0 done, 1 not done.':
    'Feche antes tudo o que o usa. É conferido e continua com outro nome, ligado ao antigo por um evento. Chamadas que estavam pendentes passam a indefinidas, exceto leituras: podem ter sido feitas desde então. Uma marca própria é usada quando a configuração a tem.\nCódigos de saída: 0 feito, 1 não feito.',
  'ERROR: ': 'ERRO: ',
  'WARNING: ': 'AVISO: ',
  'Show one validation: its state, and of a resolved one whether it was charged. Data of the person is shown with --data only.':
    'Mostra uma validação: o estado e, de uma apurada, se foi cobrada. Os dados da pessoa só aparecem com --data.',
  'answer of': 'resposta de',
  ended: 'terminou',
  'erased {}: averba erase --store {} --subject {} --actor <ref> --requester <ref> --legal-basis <text> --backups-kept <days>':
    'eliminada em {}: averba erase --store {} --subject {} --actor <ref> --requester <ref> --legal-basis <text> --backups-kept <days>',
  'in place of a log: a folder of averba export, or a proof or disclosure of one event':
    'em vez de um registro: uma pasta de averba export, ou a prova ou revelação de um evento',
  'only list what it would act on, without --actor': 'só lista aquilo em que agiria, sem --actor',
  'only this log, a file or the address of its schema on PostgreSQL, without a configuration':
    'só este registro, um arquivo ou o endereço do seu esquema no PostgreSQL, sem configuração',
  'paid again for': 'paga de novo por',
  requested: 'pedida',
  'sealed: --data shows it': 'lacrado: --data o mostra',
  subject: 'titular',
  'trace id': 'trace id',
  'with --store, how many days you keep backups of it and its keyring, 30 by default; else backupRetentionDays says it':
    'com --store, por quantos dias você guarda cópias dele e do chaveiro, 30 por padrão; senão, backupRetentionDays o diz',
}
