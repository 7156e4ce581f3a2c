/**
 * Account cells: what every actor knows of an account's margin, in one SharedArrayBuffer. A cell is the sum of all
 * actors' contributions, each added with Atomics, so a symbol checks cross margin in its own turn without asking anyone.
 * Derived: rebuilt at start from the actors' states.
 */
const CELLS_PER_ACCOUNT = 8; // one cache line
const EQUITY = 0;
const UNREALIZED = 1;
const INITIAL = 2;
const POSITION_INITIAL = 3;
const MAINTENANCE = 4;

/** One actor's share of an account, in quanta. */
export interface Contribution {
  /** Ledger balance, or a position's cash + size × mark. */
  equity: number;
  unrealized: number;
  /** Initial margin, that of open orders included. */
  initial: number;
  /** The position's part of it: what changes with trades and prices, and not with every order. */
  positionInitial: number;
  maintenance: number;
}

/** How many numbers an actor keeps per account to remember what it has contributed: see move(). */
export const CONTRIBUTION_FIELDS = 5;

export class AccountCells {
  private cells: BigInt64Array<SharedArrayBuffer>;
  /** The same memory in halves, for looks that need not be exact. */
  private halves: Int32Array;
  /** Changes in an account's favour wait here until the turn that caused them has its place in the log. */
  private readonly favouredCells: number[] = [];
  private readonly favours: number[] = [];
  private favourCount = 0;
  /** The first so many of them count for their accounts already: see countFavours(). */
  private countedFavours = 0;
  private flushedCount = 0;
  /** What the turn that is under way has added already: see abandon(). */
  private isTurnOpen = false;
  private readonly burdenedCells: number[] = [];
  private readonly burdens: number[] = [];
  private burdenCount = 0;

  constructor(buffer: SharedArrayBuffer) {
    this.cells = new BigInt64Array(buffer);
    this.halves = new Int32Array(buffer);
  }

  static allocate(maxAccounts: number): AccountCells {
    return new AccountCells(new SharedArrayBuffer(maxAccounts * CELLS_PER_ACCOUNT * 8));
  }

  get buffer(): SharedArrayBuffer {
    return this.cells.buffer;
  }

  /** From now on these are the cells in `buffer`: for one who has worked on others until it was counted. */
  moveTo(buffer: SharedArrayBuffer): void {
    this.cells = new BigInt64Array(buffer);
    this.halves = new Int32Array(buffer);
  }

  get maxAccounts(): number {
    return this.cells.length / CELLS_PER_ACCOUNT;
  }

  equity(accountId: number): number {
    return this.read(accountId, EQUITY);
  }
  unrealized(accountId: number): number {
    return this.read(accountId, UNREALIZED);
  }
  initial(accountId: number): number {
    return this.read(accountId, INITIAL);
  }
  positionInitial(accountId: number): number {
    return this.read(accountId, POSITION_INITIAL);
  }
  maintenance(accountId: number): number {
    return this.read(accountId, MAINTENANCE);
  }

  /** What new risk may use: equity − initial. */
  available(accountId: number): number {
    return this.own(accountId, EQUITY) - this.own(accountId, INITIAL);
  }

  /** What the account has before it is liquidated: equity − maintenance. */
  beyondMaintenance(accountId: number): number {
    return this.own(accountId, EQUITY) - this.maintenance(accountId);
  }

  /** min(equity − initial, equity − max(0, unrealized)), never below 0: unrealised gains are not paid out. */
  withdrawable(accountId: number): number {
    const equity = this.own(accountId, EQUITY);
    const gains = Math.max(0, this.own(accountId, UNREALIZED));
    return Math.max(0, Math.min(equity - this.own(accountId, INITIAL), equity - gains));
  }

  /**
   * Whether equity may be below maintenance margin: a look that costs a few nanoseconds and may catch another actor
   * half-way. Ask equity() and maintenance() before acting on it, and look again later where it said no.
   */
  mayBeBelow(accountId: number): boolean {
    return this.glance(accountId, EQUITY) < this.glance(accountId, MAINTENANCE);
  }

  /**
   * Takes `amount` of initial margin if equity covers it, else takes it back and answers false. Two actors that race can
   * both be refused; they can never both spend the same money. What was taken is added to `given` (see move()).
   */
  reserve(accountId: number, amount: number, given: Float64Array, givenAt: number): boolean {
    const at = accountId * CELLS_PER_ACCOUNT;
    const delta = BigInt(amount);
    const initial = Atomics.add(this.cells, at + INITIAL, delta) + delta;
    this.note(at + INITIAL, amount);
    const equity = Atomics.load(this.cells, at + EQUITY);
    if (equity < initial && equity + BigInt(this.favour(at + EQUITY) - this.favour(at + INITIAL)) < initial) {
      Atomics.sub(this.cells, at + INITIAL, delta);
      this.note(at + INITIAL, -amount);
      return false;
    }
    given[givenAt + INITIAL] = given[givenAt + INITIAL] + amount;
    return true;
  }

  /**
   * Debits equity if `amount` is withdrawable, else takes it back and answers false. The debit comes first and the
   * check after it, so a symbol that reserves at the same moment sees either the money or its absence.
   */
  debit(accountId: number, amount: number): boolean {
    const at = accountId * CELLS_PER_ACCOUNT;
    const delta = BigInt(amount);
    const equity = Atomics.sub(this.cells, at + EQUITY, delta) - delta;
    this.note(at + EQUITY, -amount);
    const unrealized = Atomics.load(this.cells, at + UNREALIZED);
    const gains = unrealized > 0n ? unrealized : 0n;
    if (equity >= Atomics.load(this.cells, at + INITIAL) && equity >= gains) return true;
    Atomics.add(this.cells, at + EQUITY, delta);
    this.note(at + EQUITY, amount);
    return false;
  }

  /**
   * Whether the account can bear that this actor's contribution becomes `to`: equity still covers initial margin, and
   * what leaves it is no unrealised gain. If so, what burdens it has been taken and added to `given`, and move() does the
   * rest; if not, nothing has changed. Taken first and checked after, like reserve() and debit().
   */
  claim(accountId: number, to: Contribution, given: Float64Array, givenAt: number): boolean {
    const at = accountId * CELLS_PER_ACCOUNT;
    const equityBy = to.equity - given[givenAt + EQUITY];
    const initialBy = to.initial - given[givenAt + INITIAL];
    const gainsBy = to.unrealized - given[givenAt + UNREALIZED];
    const taken = Math.min(0, equityBy);
    const added = Math.max(0, initialBy);
    const gained = Math.max(0, gainsBy);
    this.add(at + EQUITY, taken, false);
    this.add(at + INITIAL, added, false);
    this.add(at + UNREALIZED, gained, false);
    const equity = this.equity(accountId) + Math.max(0, equityBy);
    const initial = this.initial(accountId) + Math.min(0, initialBy);
    const gains = this.unrealized(accountId) + Math.min(0, gainsBy);
    if (equity >= initial && (taken === 0 || equity >= gains)) {
      given[givenAt + EQUITY] = given[givenAt + EQUITY] + taken;
      given[givenAt + INITIAL] = given[givenAt + INITIAL] + added;
      given[givenAt + UNREALIZED] = given[givenAt + UNREALIZED] + gained;
      return true;
    }
    this.add(at + UNREALIZED, -gained, false);
    this.add(at + INITIAL, -added, false);
    this.add(at + EQUITY, -taken, false);
    return false;
  }

  /**
   * Lifts an equity below zero to zero, and answers by how much; 0 when there was nothing to lift or another actor was
   * faster. What was lifted is added to `given`. An account at zero can take no risk, so nobody can build on it early.
   */
  cover(accountId: number, given: Float64Array, givenAt: number): number {
    const at = accountId * CELLS_PER_ACCOUNT + EQUITY;
    const equity = Atomics.load(this.cells, at);
    if (equity >= 0n || Atomics.compareExchange(this.cells, at, equity, 0n) !== equity) return 0;
    const lifted = Number(-equity);
    this.note(at, lifted);
    given[givenAt + EQUITY] = given[givenAt + EQUITY] + lifted;
    return lifted;
  }

  /**
   * Brings what an actor has contributed (five numbers of `given` from `at`, in the order of the cells) to `to`.
   * What helps the account waits for flush(), unless what it follows from stands in the log already (`isLogged`).
   */
  move(accountId: number, given: Float64Array, at: number, to: Contribution, isLogged = false): void {
    const cell = accountId * CELLS_PER_ACCOUNT;
    const mayWait = !isLogged;
    const equity = to.equity - given[at + EQUITY];
    const unrealized = to.unrealized - given[at + UNREALIZED];
    const initial = to.initial - given[at + INITIAL];
    const positionInitial = to.positionInitial - given[at + POSITION_INITIAL];
    const maintenance = to.maintenance - given[at + MAINTENANCE];
    if (equity !== 0) this.add(cell + EQUITY, equity, mayWait && equity > 0);
    // Less of an unrealised gain is more to withdraw.
    if (unrealized !== 0) this.add(cell + UNREALIZED, unrealized, mayWait && unrealized < 0);
    if (initial !== 0) this.add(cell + INITIAL, initial, mayWait && initial < 0);
    if (positionInitial !== 0) this.add(cell + POSITION_INITIAL, positionInitial, false);
    if (maintenance !== 0) this.add(cell + MAINTENANCE, maintenance, false);
    given[at + EQUITY] = to.equity;
    given[at + UNREALIZED] = to.unrealized;
    given[at + INITIAL] = to.initial;
    given[at + POSITION_INITIAL] = to.positionInitial;
    given[at + MAINTENANCE] = to.maintenance;
  }

  /** A turn begins. */
  begin(): void {
    this.isTurnOpen = true;
    this.burdenCount = 0;
  }

  /**
   * The turn is over, and has its ticket if it has done anything: whoever uses what it did in accounts' favour comes after
   * it in the log.
   */
  flush(): void {
    this.isTurnOpen = false;
    this.burdenCount = 0;
    for (; this.flushedCount < this.favourCount; this.flushedCount++)
      Atomics.add(this.cells, this.favouredCells[this.flushedCount], BigInt(this.favours[this.flushedCount]));
    this.favourCount = 0;
    this.countedFavours = 0;
    this.flushedCount = 0;
  }

  /**
   * What the turn has done in accounts' favour until now may be used by what it does from here on: both stand in one
   * record of the log, so a crash takes both or neither. Other actors see it with flush().
   */
  countFavours(): void {
    this.countedFavours = this.favourCount;
  }

  /** What this turn may take the cell for. */
  private own(accountId: number, cell: number): number {
    return this.read(accountId, cell) + this.favour(accountId * CELLS_PER_ACCOUNT + cell);
  }

  private favour(cell: number): number {
    let sum = 0;
    for (let i = 0; i < this.countedFavours; i++) if (this.favouredCells[i] === cell) sum += this.favours[i];
    return sum;
  }

  /**
   * The thread has thrown and does nothing more: the cells get to where its last turn has left them. A turn that had no
   * ticket has not been, so what it has added is taken back; one that had is in the log, and the rest of it follows.
   */
  abandon(): void {
    if (!this.isTurnOpen) return this.flush();
    this.isTurnOpen = false;
    while (this.burdenCount > 0) {
      const last = --this.burdenCount;
      Atomics.sub(this.cells, this.burdenedCells[last], BigInt(this.burdens[last]));
    }
    this.favourCount = 0;
    this.countedFavours = 0;
  }

  /** Adds all that an actor has contributed to an account, five numbers of `given`: for counting anew. */
  addAll(accountId: number, given: Float64Array, at: number): void {
    const cell = accountId * CELLS_PER_ACCOUNT;
    for (let field = 0; field < CONTRIBUTION_FIELDS; field++)
      if (given[at + field] !== 0) Atomics.add(this.cells, cell + field, BigInt(given[at + field]));
  }

  clear(): void {
    this.cells.fill(0n);
  }

  /** Becomes a copy of `other`, while nobody works on either. */
  copyFrom(other: AccountCells): void {
    this.cells.set(other.cells);
  }

  private read(accountId: number, cell: number): number {
    return Number(Atomics.load(this.cells, accountId * CELLS_PER_ACCOUNT + cell));
  }

  /** The account's equity, torn at worst: for rankings. */
  glanceAtEquity(accountId: number): number {
    return this.glance(accountId, EQUITY);
  }

  /** The halves are read one after the other: torn when an actor writes in between. */
  private glance(accountId: number, cell: number): number {
    const at = 2 * (accountId * CELLS_PER_ACCOUNT + cell);
    return this.halves[at + 1] * 2 ** 32 + (this.halves[at] >>> 0);
  }

  private add(cell: number, delta: number, waits: boolean): void {
    if (!waits) {
      Atomics.add(this.cells, cell, BigInt(delta));
      this.note(cell, delta);
      return;
    }
    this.favouredCells[this.favourCount] = cell;
    this.favours[this.favourCount++] = delta;
  }

  private note(cell: number, delta: number): void {
    if (!this.isTurnOpen) return;
    this.burdenedCells[this.burdenCount] = cell;
    this.burdens[this.burdenCount++] = delta;
  }
}
