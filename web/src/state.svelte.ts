// The state of the page. All of it is in the address, so that a link shows what its sender saw.
//
//     #/PAGE/SUBJECT?e=EVALUATION&batch=8&layer=NAME&kernel=NAME&...
//
// `e` (given twice or more if evaluations are compared), `batch`, `layer` and `kernel` are kept from page to
// page: every view filters by them. All other parameters belong to one page and are dropped.

const CARRIED = ['e', 'batch', 'layer', 'kernel'];

class Place {
  page = $state('');
  subject = $state('');
  query = $state(new URLSearchParams());

  constructor() {
    this.read();
    window.addEventListener('hashchange', () => this.read());
  }

  private read() {
    const [path = '', query = ''] = window.location.hash.replace(/^#\/?/, '').split('?', 2);
    const [page = '', ...subject] = path.split('/');
    this.page = page;
    this.subject = decodeURIComponent(subject.join('/'));
    this.query = new URLSearchParams(query);
  }

  get evaluations(): string[] {
    return this.query.getAll('e');
  }
  get evaluation(): string | undefined {
    return this.query.get('e') ?? undefined;
  }
  get batch(): number | undefined {
    const text = this.query.get('batch');
    return text === null ? undefined : Number(text);
  }
  // The filter of every view: the subject of the page, or else the selection.
  get layer(): string | undefined {
    return this.page === 'layer' ? this.subject : (this.query.get('layer') ?? undefined);
  }
  get kernel(): string | undefined {
    return this.page === 'kernel' ? this.subject : (this.query.get('kernel') ?? undefined);
  }

  // Returns the address of a page; parameters that `changes` sets to null or undefined are left out.
  href(
    page: string,
    subject = '',
    changes: Record<string, string | number | string[] | null | undefined> = {},
  ): string {
    const query = new URLSearchParams();
    for (const name of CARRIED) {
      if (!(name in changes))
        for (const value of this.query.getAll(name)) query.append(name, value);
    }
    for (const [name, value] of Object.entries(changes)) {
      for (const one of Array.isArray(value) ? value : [value]) {
        if (one !== null && one !== undefined) query.append(name, String(one));
      }
    }
    const text = query.toString();
    return `#/${page}${subject ? `/${encodeURIComponent(subject)}` : ''}${text ? `?${text}` : ''}`;
  }

  // Changes the query of this page. `replace` adds no entry to the browser's history.
  set(changes: Record<string, string | number | string[] | null | undefined>, replace = false) {
    const query = new URLSearchParams(this.query);
    for (const [name, value] of Object.entries(changes)) {
      query.delete(name);
      for (const one of Array.isArray(value) ? value : [value]) {
        if (one !== null && one !== undefined) query.append(name, String(one));
      }
    }
    const subject = this.subject ? `/${encodeURIComponent(this.subject)}` : '';
    const text = query.toString();
    const hash = `#/${this.page}${subject}${text ? `?${text}` : ''}`;
    if (replace) {
      window.history.replaceState(null, '', hash);
      this.read();
    } else {
      window.location.hash = hash;
    }
  }
}

export const place = new Place();
