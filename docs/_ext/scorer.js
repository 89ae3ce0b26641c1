// What search shows first: a name that is written out in full, then guides, then all other pages, then parts of names.
var Scorer = {
  score: ([page, _title, _anchor, _words, score]) => score + (/^(tutorial|howto\/)/.test(page) ? 6 : 0),
  objNameMatch: 11,
  objPartialMatch: -6,
  objPrio: { 0: 15, 1: 8, 2: -5 },
  objPrioDefault: 0,
  title: 15,
  partialTitle: 9,
  term: 5,
  partialTerm: 2,
};
